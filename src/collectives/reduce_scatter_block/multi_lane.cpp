// What   Every rank stages its blocks in the node's memory. Each rank on another node has one rank of this node as its server (servers.h), which
//        combines the node's blocks for it and sends the result. Every rank combines the blocks of its own node with what its servers on the others
//        have sent, in the order of the nodes. Long blocks are moved part by part.
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
