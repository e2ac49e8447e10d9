// What   Every rank copies its blocks into the node's shared send buffer, ordered by the node they
//        go to, so that the leaders exchange one message a pair of nodes. While they exchange,
//        pairwise, all ranks copy what came in the step before out of the shared receive buffer.
// When   Small blocks on several nodes, while the receive buffer fits the caches.
// Cost   (N-1)(a + PPN^2 mb) between leaders + 2pm copied by every rank; N-1 partners and N-1 sends
//        a node; 2 N PPN^2 m of the node's memory.
// Needs  A shared segment on every node.
// From   OHIO paper, section III-B (version 2) and Table III.

#include "collectives/alltoall/node_regions.h"

namespace crossrail::alltoall::leader_coalesced {
namespace {

struct Layout {
  Regions leaving, arriving;
};

Status exchange(Plan& plan, const Layout& layout, Partners partners, std::byte* memory) {
  const Topology& topology = *plan.topology;
  CROSSRAIL_TRY(plan.receive(leader_of(topology, partners.from), memory + layout.arriving.at[partners.from],
                             region_bytes(plan, partners.from), Links::Channel::coalesced));
  return plan.send(leader_of(topology, partners.to), memory + layout.leaving.at[partners.to],
                   region_bytes(plan, partners.to), Links::Channel::coalesced);
}

}  // namespace

bool fits(const Topology& topology, const Shape& shape) {
  return regions_fit(topology, shape, [&](int node) { return 2 * ranks_on(topology, node) * static_cast<std::size_t>(topology.size); });
}

Status plan(Plan& plan) {
  Layout layout;
  layout.leaving = plan_regions(plan, 0);
  layout.arriving = plan_regions(plan, layout.leaving.end);
  return plan.open_messages_and_memory(plan.keep(std::move(layout)).arriving.end);
}

Status run(Plan& plan, const Buffers& buffers) {
  NodeBoard& board = *plan.board;
  const Topology& topology = *plan.topology;
  const Layout& layout = plan.kept<Layout>();
  const bool leads = topology.node_rank() == 0;
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::uint64_t epoch = board.next_epoch();
  stage_regions(plan, buffers, layout.leaving.at, memory);
  board.mark(board.my_lines().filled, epoch);
  const std::byte* const own = memory + layout.leaving.at[topology.node()];
  if (topology.one_node()) return copy_last_of_one_node(plan, [&] { return copy_own_node(plan, buffers, own, epoch); });
  if (leads) CROSSRAIL_TRY(board.await_marks(&RankLines::filled, epoch));
  for (int step = 1; step < topology.node_count(); ++step) {
    if (leads) CROSSRAIL_TRY(exchange(plan, layout, partners_of(topology, step), memory));
    if (step == 1) {
      CROSSRAIL_TRY(copy_own_node(plan, buffers, own, epoch));
    } else {
      const int node = partners_of(topology, step - 1).from;
      copy_from_region(plan, buffers, node, memory + layout.arriving.at[node]);
    }
    CROSSRAIL_TRY(pass_step(plan, epoch, step));
  }
  const int last = partners_of(topology, topology.node_count() - 1).from;
  copy_from_region(plan, buffers, last, memory + layout.arriving.at[last]);
  return {};
}

}  // namespace crossrail::alltoall::leader_coalesced
