// What   The ranks of a node gather their blocks as a matrix of regions, one for every other node;
//        each region is carried by one of them, in turn, as one message to the rank that carries it
//        there; then all take their blocks out of the regions. Phases do not overlap.
// When   Small blocks on many nodes: the messages of a node are spread over its ranks. A published
//        baseline.
// Cost   ceil((N-1)/PPN)(a + PPN^2 mb) + 2pm copied by every rank; N-1 partners and N-1 sends a node;
//        2 N PPN^2 m of the node's memory. Where there is less, all that once for every slice of the
//        blocks, as long as there is room for.
// Needs  A shared segment on every node, room there for 64 bytes of every block, out and in.
// From   Chochia, Solt, Hursey, Applying on node aggregation methods to MPI alltoall collectives:
//        Matrix block aggregation algorithm, EuroMPI/USA 2022; OHIO paper, Table I.

#include "collectives/alltoall/node_regions.h"

namespace crossrail::alltoall::matrix_block {
namespace {

Status exchange(Plan& plan, std::size_t slice, std::byte* memory) {
  const Topology& topology = *plan.topology;
  const BothWays& regions = plan.kept<BothWays>();
  for (int step = 1 + topology.node_rank(); step < topology.node_count(); step += topology.node_size()) {
    const Partners partners = partners_of(topology, step);
    CROSSRAIL_TRY(plan.receive(in_turn(topology.nodes[partners.from], step - 1), memory + regions.arriving.at[partners.from],
                               region_bytes(topology, partners.from, slice), Links::Channel::coalesced));
    CROSSRAIL_TRY(plan.send(in_turn(topology.nodes[partners.to], step - 1), memory + regions.leaving.at[partners.to],
                            region_bytes(topology, partners.to, slice), Links::Channel::coalesced));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

Status run_slice(Plan& plan, const Slice& slice, std::byte* memory) {
  ControlBlock& control = *plan.control;
  const Topology& topology = *plan.topology;
  const BothWays& regions = plan.kept<BothWays>();
  const std::uint64_t epoch = control.next_epoch();
  stage_regions(plan, slice, regions.leaving.at, memory);
  control.post(filled, epoch);
  CROSSRAIL_TRY(control.wait_all(filled, epoch));
  CROSSRAIL_TRY(exchange(plan, slice.bytes, memory));
  copy_from_region(plan, slice, topology.node(), memory + regions.leaving.at[topology.node()]);
  // This rank has carried its regions and has read the node's own, so the next slice or call may write there.
  control.post(arrived, epoch);
  CROSSRAIL_TRY(control.wait_all(arrived, epoch));
  for (int step = 1; step < topology.node_count(); ++step) {
    const int node = partners_of(topology, step).from;
    copy_from_region(plan, slice, node, memory + regions.arriving.at[node]);
  }
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_slices(topology, longest_of_copies(topology, 2)); }

Status plan(Plan& plan) { return plan_both_ways(plan, slices_of(plan, longest_of_copies(*plan.topology, 2))); }

Status run(Plan& plan, const Buffers& buffers) {
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  return in_slices(plan, buffers, plan.kept<BothWays>().slicing, [&](const Slice& slice) { return run_slice(plan, slice, memory); });
}

}  // namespace crossrail::alltoall::matrix_block
