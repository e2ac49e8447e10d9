// What   The ranks of a node gather their blocks as a matrix of regions, one for every other node;
//        each region is carried by one of them, in turn, as one message to the rank that carries it
//        there; then all take their blocks out of the regions. Phases do not overlap.
// When   Small blocks on many nodes: the messages of a node are spread over its ranks. A published
//        baseline.
// Cost   ceil((N-1)/PPN)(a + PPN^2 mb) + 2pm copied by every rank; N-1 partners and N-1 sends a node.
// Needs  A shared segment on every node, room there for all regions out and in.
// From   Chochia, Solt, Hursey, Applying on node aggregation methods to MPI alltoall collectives:
//        Matrix block aggregation algorithm, EuroMPI/USA 2022; OHIO paper, Table I.

#include "collectives/alltoall/node_regions.h"

namespace crossrail::alltoall::matrix_block {
namespace {

Status exchange(Plan& plan, const BothWays& regions, std::byte* memory) {
  const Topology& topology = *plan.topology;
  for (int step = 1 + topology.node_rank(); step < topology.node_count(); step += topology.node_size()) {
    const Partners partners = partners_of(topology, step);
    CROSSRAIL_TRY(plan.receive(in_turn(topology.nodes[partners.from], step - 1), memory + regions.arriving.at[partners.from],
                               region_bytes(plan, partners.from), Links::Channel::coalesced));
    CROSSRAIL_TRY(plan.send(in_turn(topology.nodes[partners.to], step - 1), memory + regions.leaving.at[partners.to],
                            region_bytes(plan, partners.to), Links::Channel::coalesced));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_two_copies(topology); }

Status plan(Plan& plan) { return plan_both_ways(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const Topology& topology = *plan.topology;
  const BothWays& regions = plan.kept<BothWays>();
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::uint64_t epoch = control.next_epoch();
  stage_regions(plan, buffers, regions.leaving.at, memory);
  control.post(filled, epoch);
  CROSSRAIL_TRY(control.wait_all(filled, epoch));
  CROSSRAIL_TRY(exchange(plan, regions, memory));
  copy_from_region(plan, buffers, topology.node(), memory + regions.leaving.at[topology.node()]);
  // This rank has carried its regions and has read the node's own, so the next call may write there.
  control.post(arrived, epoch);
  CROSSRAIL_TRY(control.wait_all(arrived, epoch));
  for (int step = 1; step < topology.node_count(); ++step) {
    const int node = partners_of(topology, step).from;
    copy_from_region(plan, buffers, node, memory + regions.arriving.at[node]);
  }
  return {};
}

}  // namespace crossrail::alltoall::matrix_block
