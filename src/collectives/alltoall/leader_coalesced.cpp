// What   Every rank copies its blocks into the node's shared send buffer, ordered by their destination node, so that the leaders exchange one message
//        for each pair of nodes. While they exchange, pairwise, all ranks copy what has arrived in the step before out of the shared receive buffer.
// When   Small blocks on several nodes, while the receive buffer fits the caches.
// Cost   (N-1)(a + PPN^2 mb) between leaders + 2pm copied by every rank; N-1 partners and N-1 sends
//        a node; 2 N PPN^2 m of the node's memory.
// Needs  A shared segment on every node.
// From   OHIO paper, section III-B (version 2) and Table III.

#include "collectives/alltoall/node_regions.h"

namespace crossrail::alltoall::leader_coalesced {
namespace {

Status exchange(Plan& plan, const BothWays& regions, Partners partners, std::byte* memory) {
  const Topology& topology = *plan.topology;
  CROSSRAIL_TRY(plan.receive(topology.leaders[partners.from], memory + regions.arriving.at[partners.from],
                             region_bytes(topology, partners.from, plan.shape.block_bytes), Links::Channel::coalesced));
  return plan.send(topology.leaders[partners.to], memory + regions.leaving.at[partners.to],
                   region_bytes(topology, partners.to, plan.shape.block_bytes), Links::Channel::coalesced);
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_copies(topology, 2); }

Status plan(Plan& plan) { return plan_both_ways(plan, whole_blocks(plan)); }

Status run(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const int node = plan.topology->node();
  const auto& regions = plan.kept<BothWays>();
  const Slice blocks = whole_slice(plan, buffers);
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::uint64_t epoch = control.next_epoch();
  stage_regions(plan, blocks, regions.leaving.at, memory);
  control.post(filled, epoch);
  const auto post = [&](Partners partners) { return exchange(plan, regions, partners, memory); };
  const auto copy_own = [&] {
    return copy_own_node(plan, epoch, [&] { copy_from_region(plan, blocks, node, memory + regions.leaving.at[node]); });
  };
  return StepwiseCall{plan, blocks, memory, regions.arriving, epoch, post, copy_own}.run();
}

}  // namespace crossrail::alltoall::leader_coalesced
