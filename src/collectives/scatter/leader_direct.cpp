// What   The root sends every node the blocks of its ranks in one message, to the first of them; that one, and the root on its own node,
//        scatter them through the shared memory of the node.
// When   Several nodes and short blocks: the root has a message a node to send, not one a rank.
// Cost   Nodes of l ranks, n of them: (n-1)(a + lmb) at the root + one flag latency.
// Needs  A shared segment in every node; scratch for all blocks. Parameters: packet, part, as of node_shared.
// From   Ours; leaders as in the OHIO paper, section III.

#include "collectives/rooted_leaders.h"

namespace crossrail::scatter::leader_direct {
namespace {

Status run_root(Plan& plan, const Buffers& buffers, const RootedLeaders& leaders) {
  const std::size_t block = plan.shape.block_bytes;
  CROSSRAIL_TRY(leaders.for_nodes([&](int leader, const Group& ranks, std::size_t place) {
    std::byte* const row = plan.scratch() + place;
    for (int index = 0; !ranks.consecutive() && index < ranks.size(); ++index) {
      copy_block(row + static_cast<std::size_t>(index) * block, block_in_row(plan, buffers.send, ranks[index]), block);
    }
    return plan.send(leader, ranks.consecutive() ? block_in_row(plan, buffers.send, ranks[0]) : row, static_cast<std::size_t>(ranks.size()) * block);
  }));
  const Group& here = plan.topology->node_ranks();
  const auto place_of = [&](int node_rank) { return block_in_row(plan, buffers.send, here[node_rank]); };
  CROSSRAIL_TRY(plan.kept<RootedNode>().scatter(plan, leaders.leader(), nullptr, place_of));
  copy_own(plan, buffers);
  return plan.links->wait_posted();
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return RootedLeaders::fit(topology); }

Status plan(Plan& plan) { return RootedLeaders::plan(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (block == 0) return {};
  const RootedLeaders leaders(plan);
  if (is_root(plan)) return run_root(plan, buffers, leaders);
  std::byte* const row = plan.scratch();
  if (leaders.leads()) {
    CROSSRAIL_TRY(plan.receive(plan.shape.root, row, static_cast<std::size_t>(plan.topology->node_size()) * block));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  const auto place_of = [&](int node_rank) { return row + static_cast<std::size_t>(node_rank) * block; };
  CROSSRAIL_TRY(plan.kept<RootedNode>().scatter(plan, leaders.leader(), buffers.recv, place_of));
  if (leaders.leads()) copy_block(buffers.recv, place_of(leaders.leader()), block);
  return {};
}

}  // namespace crossrail::scatter::leader_direct
