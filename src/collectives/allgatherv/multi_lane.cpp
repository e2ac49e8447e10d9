// What   This is allgather/multi_lane with blocks of any lengths: every rank sends its block to one rank of each other node, which receives it in the
//        node's shared memory, and stages it for its own node. All ranks copy all blocks out of there. Long blocks are moved part by part; empty ones
//        are no messages.
// When   Several nodes: every block crosses the network once a node, and all ranks of a node send and receive.
// Cost   Nodes of l ranks, n of them: (n-1)(a + mb) + m staged and all blocks copied out by every rank, m being the longest block.
// Needs  Shared node memory for a part of every rank's block, twice. Parameter: part (most of a block at a time).
// From   Traeff and Hunold 2020, section 3 (allgather on lanes); the nodes may differ.

#include "collectives/allgather/multi_lane.h"

namespace crossrail::allgatherv::multi_lane {

Fit fit(const Topology& topology, const Shape&) { return allgather::fit_lanes(topology); }

Status plan(Plan& plan) { return allgather::plan_lanes(plan, longest_possible(plan)); }

Status run(Plan& plan, const Buffers& buffers) {
  return plan.shape.block_bytes == 0 ? Status{} : allgather::run_lanes(plan, allgather::unequal_blocks(plan, buffers));
}

}  // namespace crossrail::allgatherv::multi_lane
