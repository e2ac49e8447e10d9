// What   This is reduce_scatter_block/multi_lane with blocks of any lengths: blocks are first combined in each node, each by one rank, which sends
//        the result to the block's owner. Long blocks are moved part by part; empty ones are no messages.
// When   Several nodes: of all blocks of a node one leaves it for every rank elsewhere, and all its ranks combine and send.
// Cost   Nodes of l ranks, n of them, p in all: (n-1)(a + mb) + all blocks staged, pm read and combined, by every rank, m being the longest block.
// Needs  Shared node memory for a part of every block of the node's ranks, twice. Parameter: part (most of a block at a time).
// From   Traeff and Hunold 2020, section 3 (reduce-scatter on lanes); the nodes may differ.

#include "collectives/reduce_scatter_block/multi_lane.h"

namespace crossrail::reduce_scatter::multi_lane {

Fit fit(const Topology& topology, const Shape& shape) { return reduce_scatter_block::fit_lanes(topology, shape); }

Status plan(Plan& plan) { return reduce_scatter_block::plan_lanes(plan, reduce_scatter_block::longest_elements(plan)); }

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.shape.block_bytes == 0) return {};
  return reduce_scatter_block::run_lanes(plan, reduce_scatter_block::unequal_blocks(plan, buffers));
}

}  // namespace crossrail::reduce_scatter::multi_lane
