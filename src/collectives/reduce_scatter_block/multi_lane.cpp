// What   Every rank stages its blocks in the node's memory. Every rank elsewhere has one rank of this node as its server (servers.h), which
//        combines the node's blocks for it and sends the result; and every rank combines those of its own node and what its servers on
//        the others have sent, in the order of the nodes. Part by part.
// When   Several nodes: of all blocks of a node one leaves it for every rank elsewhere, and all its ranks combine and send.
// Cost   Nodes of l ranks, n of them, p in all: (n-1)(a + mb) + pm staged, pm read and combined, by every rank.
// Needs  Shared node memory for a part of every block of the node's ranks, twice. Parameter: part (most of a block at a time).
// From   Traeff and Hunold 2020, section 3 (reduce-scatter on lanes); the nodes may differ.

#include <algorithm>

#include "collectives/parameters.h"
#include "collectives/reduce_scatter_block/own_block.h"
#include "collectives/servers.h"

namespace crossrail::reduce_scatter_block::multi_lane {
namespace {

struct PartPlace {
  std::size_t from, bytes, stride, row;  // `row`: from one rank's region to the next one's
  std::byte* first;
  std::uint64_t epoch;
  std::byte* of(int node_rank, int block) const { return first + static_cast<std::size_t>(node_rank) * row + static_cast<std::size_t>(block) * stride; }
};

// What others combine; the rest of this rank's region is for its own results.
void stage(Plan& plan, const Buffers& buffers, const PartPlace& part) {
  const Topology& topology = *plan.topology;
  const int node_size = topology.node_size(), mine = topology.node_rank();
  for (const Group& node : topology.nodes) {
    for (int number = 0; number < node.size(); ++number) {
      if (number % node_size == mine) continue;
      plan.stage(part.of(mine, node[number]), sent(plan, buffers, node[number]) + part.from, part.bytes);
    }
  }
  plan.control->post(filled, part.epoch);
}

// The node's blocks for `rank`, where this rank's result for it goes.
Status combine_node(Plan& plan, const Buffers& buffers, const PartPlace& part, int rank) {
  ControlBlock& control = *plan.control;
  const int mine = control.node_rank();
  const auto row = [&](int peer, const std::byte*& at) -> Status {
    if (peer != mine) CROSSRAIL_TRY(control.wait(peer, filled, part.epoch));
    at = peer == mine ? sent(plan, buffers, rank) + part.from : part.of(peer, rank);
    return {};
  };
  return Rows(plan, control.node_size(), plan.scratch()).combine(part.bytes, part.of(mine, rank), row);
}

std::size_t rows_scratch(const Topology& topology) { return Rows::scratch_bytes(std::max(topology.node_size(), topology.node_count())); }

Status run_part(Plan& plan, const Buffers& buffers, const PartPlace& part) {
  const Topology& topology = *plan.topology;
  const int mine = topology.node_rank();
  std::byte* const arriving = plan.scratch() + rows_scratch(topology);  // by nodes
  CROSSRAIL_TRY(for_servers(topology, [&](int server) {
    return plan.receive(server, arriving + static_cast<std::size_t>(topology.node_of[server]) * part.stride, part.bytes);
  }));
  stage(plan, buffers, part);
  const auto serve = [&](int rank) {
    const Status combined = combine_node(plan, buffers, part, rank);
    return combined.ok() ? plan.send(rank, part.of(mine, rank), part.bytes) : combined;
  };
  CROSSRAIL_TRY(for_served(topology, mine, serve));
  CROSSRAIL_TRY(combine_node(plan, buffers, part, topology.rank));
  CROSSRAIL_TRY(plan.links->wait_posted());
  const auto of_node = [&](int node, const std::byte*& at) -> Status {
    at = node == topology.node() ? part.of(mine, topology.rank) : arriving + static_cast<std::size_t>(node) * part.stride;
    return {};
  };
  CROSSRAIL_TRY(Rows(plan, topology.node_count(), plan.scratch()).combine(part.bytes, buffers.recv + part.from, of_node));
  plan.control->seen_all(part.epoch);
  return {};
}

std::size_t room_for_part(const Topology& topology) {
  return topology.scratch_bytes / (2 * static_cast<std::size_t>(topology.largest_node()) * static_cast<std::size_t>(topology.size));
}

// The same on every rank, however many its node has. A part and those that arrive from other nodes have room in the scratch.
std::size_t part_at_most(const Topology& topology, const Reduction& reduction, std::size_t wanted) {
  const std::size_t element = bytes_of(reduction.element);
  const std::size_t arriving = topology.scratch_bytes / 2 / static_cast<std::size_t>(topology.node_count());
  const std::size_t most = std::min<std::uint64_t>({room_for_part(topology), arriving, wanted});
  return element == 0 ? 0 : most / element * element;
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) {
  const bool room = part_at_most(topology, shape.reduction, ~std::size_t{0}) > 0;
  return Fit()
      .needs(topology.shared_segment, kSharedMemory)
      .needs(is_defined(shape.reduction), kDefinedReduction)
      .needs(free_order(topology, shape), kFreeOrder)
      .at_most(room ? ~std::uint64_t{0} : 0)
      .planned(Planning::when_larger);
}

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  const std::size_t element = bytes_of(plan.shape.reduction.element);
  plan.chunk_bytes = std::min<std::size_t>(plan.shape.block_bytes, part_at_most(topology, plan.shape.reduction, std::max<std::size_t>(element, plan.parameter(parameters::part))));
  const std::size_t row = plan.chunk_bytes * static_cast<std::size_t>(topology.size);
  const Status opened = plan.open_messages_and_memory(2 * row * static_cast<std::size_t>(topology.node_size()));
  const Status reserved = plan.reserve_scratch(rows_scratch(topology) + plan.chunk_bytes * static_cast<std::size_t>(topology.node_count()));
  return opened.ok() ? reserved : opened;
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes, stride = plan.chunk_bytes;
  if (block == 0) return {};
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::size_t row = stride * static_cast<std::size_t>(plan.topology->size);
  for (std::size_t from = 0; from < block; from += stride) {
    const std::uint64_t epoch = plan.control->next_epoch();
    CROSSRAIL_TRY(plan.control->wait_until_reusable(epoch));
    std::byte* const half = memory + (epoch & 1) * row * static_cast<std::size_t>(plan.topology->node_size());
    CROSSRAIL_TRY(run_part(plan, buffers, {from, std::min(stride, block - from), stride, row, half, epoch}));
  }
  return {};
}

}  // namespace crossrail::reduce_scatter_block::multi_lane
