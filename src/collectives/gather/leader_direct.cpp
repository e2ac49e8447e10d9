// What   In each node, blocks are gathered through its shared memory by the root or by the node's first rank, which sends them to the root in one
//        message.
// When   Several nodes and short blocks: the root has one message per node to match instead of one per rank.
// Cost   Nodes of l ranks, n of them: one flag latency + (n-1)(a + lmb) at the root.
// Needs  A shared segment in every node; scratch for all blocks. Parameters: packet, part, as of node_shared.
// From   Ours; leaders as in the OHIO paper, section III.

#include "collectives/rooted_leaders.h"

namespace crossrail::gather::leader_direct {
namespace {

Status run_root(Plan& plan, const Buffers& buffers, const RootedLeaders& leaders) {
  const std::size_t block = plan.shape.block_bytes;
  CROSSRAIL_TRY(leaders.for_nodes([&](int leader, const Group& ranks, std::size_t place) {
    std::byte* const row = ranks.consecutive() ? block_in_row(plan, buffers.recv, ranks[0]) : plan.scratch() + place;
    return plan.receive(leader, row, static_cast<std::size_t>(ranks.size()) * block);
  }));
  copy_own(plan, buffers);
  const Group& here = plan.topology->node_ranks();
  const auto place_of = [&](int node_rank) { return block_in_row(plan, buffers.recv, here[node_rank]); };
  CROSSRAIL_TRY(plan.kept<RootedNode>().gather(plan, leaders.leader(), nullptr, place_of));
  CROSSRAIL_TRY(plan.links->wait_posted());
  return leaders.for_nodes([&](int, const Group& ranks, std::size_t place) {
    for (int index = 0; !ranks.consecutive() && index < ranks.size(); ++index) {
      copy_block(block_in_row(plan, buffers.recv, ranks[index]), plan.scratch() + place + static_cast<std::size_t>(index) * block, block);
    }
    return Status{};
  });
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
  const auto place_of = [&](int node_rank) { return row + static_cast<std::size_t>(node_rank) * block; };
  CROSSRAIL_TRY(plan.kept<RootedNode>().gather(plan, leaders.leader(), buffers.send, place_of));
  if (!leaders.leads()) return {};
  copy_block(place_of(leaders.leader()), buffers.send, block);
  CROSSRAIL_TRY(plan.send(plan.shape.root, row, static_cast<std::size_t>(plan.topology->node_size()) * block));
  return plan.links->wait_posted();
}

}  // namespace crossrail::gather::leader_direct
