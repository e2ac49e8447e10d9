// What   Every rank stages its blocks in the node's memory. Every rank elsewhere has one rank of this node as its server (servers.h), which
//        combines the node's blocks for it and sends the result; and every rank combines those of its own node and what its servers on
//        the others have sent, in the order of the nodes. Part by part.
// When   Several nodes: of all blocks of a node one leaves it for every rank elsewhere, and all its ranks combine and send.
// Cost   Nodes of l ranks, n of them, p in all: (n-1)(a + mb) + pm staged, pm read and combined, by every rank.
// Needs  Shared node memory for a part of every block of the node's ranks, twice. Parameter: part (most of a block at a time).
// From   Traeff and Hunold 2020, section 3 (reduce-scatter on lanes); the nodes may differ.

#include "collectives/reduce_scatter_block/multi_lane.h"

namespace crossrail::reduce_scatter_block::multi_lane {

Fit fit(const Topology& topology, const Shape& shape) { return fit_lanes(topology, shape); }

Status plan(Plan& plan) { return plan_lanes(plan, plan.shape.block_bytes); }

Status run(Plan& plan, const Buffers& buffers) {
  return plan.shape.block_bytes == 0 ? Status{} : run_lanes(plan, equal_blocks(plan, buffers));
}

}  // namespace crossrail::reduce_scatter_block::multi_lane
