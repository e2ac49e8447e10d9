// What   Every rank copies its row into the node's shared send buffer. The leaders of the nodes
//        exchange pairwise, one message for every sender; while they do, all ranks copy what came
//        in the step before out of the shared receive buffer.
// When   Small blocks on several nodes; the naive design that the others improve on.
// Cost   (N-1)(PPN a + PPN^2 mb) between leaders + 2pm copied by every rank; N-1 partners and
//        (N-1)PPN sends a node; 2 N PPN^2 m of the node's memory.
// Needs  A shared segment on every node.
// From   OHIO paper, section III-A (version 1) and Table III.

#include "collectives/alltoall/node_regions.h"

namespace crossrail::alltoall::leader_staged {
namespace {

struct Layout {
  std::vector<std::size_t> column;  // For every node, it is the place of that node's blocks in a sender's row.
  std::size_t row_bytes;
  Regions arriving;
};

Status exchange(Plan& plan, const Layout& layout, Partners partners, std::byte* memory) {
  const Topology& topology = *plan.topology;
  const std::size_t out = plan.shape.block_bytes * ranks_on(topology, partners.to);
  const std::size_t in = plan.shape.block_bytes * static_cast<std::size_t>(topology.node_size());
  for (std::size_t sender = 0; sender < ranks_on(topology, partners.from); ++sender) {
    CROSSRAIL_TRY(plan.receive(topology.leaders[partners.from], memory + layout.arriving.at[partners.from] + sender * in,
                               in, Links::Channel::coalesced));
  }
  for (std::size_t sender = 0; sender < static_cast<std::size_t>(topology.node_size()); ++sender) {
    CROSSRAIL_TRY(plan.send(topology.leaders[partners.to], memory + sender * layout.row_bytes + layout.column[partners.to],
                            out, Links::Channel::coalesced));
  }
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_copies(topology, 2); }

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  Layout layout;
  layout.row_bytes = 0;
  for (int node = 0; node < topology.node_count(); ++node) {
    layout.column.push_back(layout.row_bytes);
    layout.row_bytes += plan.shape.block_bytes * ranks_on(topology, node);
  }
  layout.arriving = plan_regions(plan, plan.shape.block_bytes, layout.row_bytes * static_cast<std::size_t>(topology.node_size()));
  return plan.open_messages_and_memory(plan.keep(std::move(layout)).arriving.end);
}

Status run(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const Topology& topology = *plan.topology;
  const Layout& layout = plan.kept<Layout>();
  const auto place = static_cast<std::size_t>(topology.node_rank());
  const Slice blocks = whole_slice(plan, buffers);
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::uint64_t epoch = control.next_epoch();
  std::byte* const row = memory + place * layout.row_bytes;
  for (int node = 0; node < topology.node_count(); ++node) stage_for_node(plan, blocks, node, row + layout.column[node]);
  control.post(filled, epoch);
  const auto post = [&](Partners partners) { return exchange(plan, layout, partners, memory); };
  // The blocks of this node's ranks lie in the senders' rows, each in its part for this node.
  const std::byte* const own = memory + layout.column[topology.node()] + place * plan.shape.block_bytes;
  const auto copy_own = [&] {
    return copy_own_node(plan, epoch, [&] { copy_column(plan, blocks, topology.node(), {own, layout.row_bytes}); });
  };
  return StepwiseCall{plan, blocks, memory, layout.arriving, epoch, post, copy_own}.run();
}

}  // namespace crossrail::alltoall::leader_staged
