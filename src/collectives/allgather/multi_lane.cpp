// What   Every rank sends its block to one rank of each other node, its server there, which receives it in the node's shared memory, and stages it
//        for the ranks of its own node. All ranks copy all blocks out of the shared memory. Long blocks are moved part by part.
// When   Several nodes: every block crosses the network once a node, and all ranks of a node send and receive.
// Cost   Nodes of l ranks, n of them: (n-1)(a + mb) + m staged and pm copied out by every rank.
// Needs  Shared node memory for a part of every rank's block, twice. Parameter: part (most of a block at a time).
// From   Traeff and Hunold 2020, section 3 (allgather on lanes); the nodes may differ.

#include "collectives/allgather/multi_lane.h"

namespace crossrail::allgather::multi_lane {

Fit fit(const Topology& topology, const Shape&) { return fit_lanes(topology); }

Status plan(Plan& plan) { return plan_lanes(plan, plan.shape.block_bytes); }

Status run(Plan& plan, const Buffers& buffers) {
  return plan.shape.block_bytes == 0 ? Status{} : run_lanes(plan, equal_blocks(plan, buffers));
}

}  // namespace crossrail::allgather::multi_lane
