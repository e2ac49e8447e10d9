// What   Every rank sends its block to one rank of each other node, its server there, which receives it in the node's shared memory, and
//        stages it for the ranks of its own node. All copy all blocks out of the shared memory. Part by part.
// When   Several nodes: every block crosses the network once a node, and all ranks of a node send and receive.
// Cost   Nodes of l ranks, n of them: (n-1)(a + mb) + m staged and pm copied out by every rank.
// Needs  Shared node memory for a part of every rank's block, twice. Parameter: part (most of a block at a time).
// From   Traeff and Hunold 2020, section 3 (allgather on lanes); the nodes may differ.

#include <algorithm>

#include "collectives/allgather/own_block.h"
#include "collectives/combine.h"
#include "collectives/parameters.h"
#include "collectives/servers.h"

namespace crossrail::allgather::multi_lane {
namespace {

// Bytes of every block from `from` on, and where they are in the node's memory.
struct PartPlace {
  std::size_t from, bytes, stride;
  std::byte* first;
  std::uint64_t epoch;
  std::byte* of(int rank) const { return first + static_cast<std::size_t>(rank) * stride; }
};

Status exchange(Plan& plan, const std::byte* own, const PartPlace& part) {
  const Topology& topology = *plan.topology;
  CROSSRAIL_TRY(for_served(topology, topology.node_rank(), [&](int rank) { return plan.receive(rank, part.of(rank), part.bytes); }));
  return for_servers(topology, [&](int server) { return plan.send(server, own + part.from, part.bytes); });
}

// Blocks that came by way of this rank of the node.
Status copy_out(Plan& plan, const Buffers& buffers, const PartPlace& part, int node_rank) {
  return for_served(*plan.topology, node_rank, [&](int rank) {
    copy_in_cache(received(plan, buffers, rank) + part.from, part.of(rank), part.bytes);
    return Status{};
  });
}

Status run_part(Plan& plan, const Buffers& buffers, const PartPlace& part) {
  ControlBlock& control = *plan.control;
  const std::byte* const own = own_block(plan, buffers);
  CROSSRAIL_TRY(exchange(plan, own, part));
  plan.stage(part.of(plan.topology->rank), own + part.from, part.bytes);
  control.post(filled, part.epoch);
  copy_own(plan, buffers, part.from, part.bytes);
  const int node_size = control.node_size(), node_rank = control.node_rank();
  for (int step = 1; step < node_size; ++step) {
    const int peer = (node_rank + step) % node_size, rank = control.rank_of(peer);
    CROSSRAIL_TRY(control.wait(peer, filled, part.epoch));
    copy_in_cache(received(plan, buffers, rank) + part.from, part.of(rank), part.bytes);
  }
  CROSSRAIL_TRY(plan.links->wait_posted());
  control.post(arrived, part.epoch);
  for (int step = 0; step < node_size; ++step) {
    const int peer = (node_rank + step) % node_size;
    if (step > 0) CROSSRAIL_TRY(control.wait(peer, arrived, part.epoch));
    CROSSRAIL_TRY(copy_out(plan, buffers, part, peer));
  }
  control.seen_all(part.epoch);
  return {};
}

std::size_t room_for_part(const Topology& topology) { return topology.scratch_bytes / (2 * static_cast<std::size_t>(topology.size)); }

}  // namespace

Fit fit(const Topology& topology, const Shape&) {
  return Fit().needs(topology.shared_segment, kSharedMemory).needs(room_for_part(topology) >= kCacheLineBytes, kMoreScratch).planned(Planning::when_larger);
}

Status plan(Plan& plan) {
  const std::size_t room = room_for_part(*plan.topology) / kCacheLineBytes * kCacheLineBytes;
  plan.chunk_bytes = std::min<std::size_t>({room, std::max<std::size_t>(1, plan.parameter(parameters::part)), plan.shape.block_bytes});
  return plan.open_messages_and_memory(2 * static_cast<std::size_t>(plan.topology->size) * round_up(plan.chunk_bytes, kCacheLineBytes));
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes, stride = round_up(plan.chunk_bytes, kCacheLineBytes);
  if (block == 0) return {};
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  for (std::size_t from = 0; from < block; from += plan.chunk_bytes) {
    const std::uint64_t epoch = plan.control->next_epoch();
    CROSSRAIL_TRY(plan.control->wait_until_reusable(epoch));
    std::byte* const half = memory + (epoch & 1) * stride * static_cast<std::size_t>(plan.topology->size);
    CROSSRAIL_TRY(run_part(plan, buffers, {from, std::min(plan.chunk_bytes, block - from), stride, half, epoch}));
  }
  return {};
}

}  // namespace crossrail::allgather::multi_lane
