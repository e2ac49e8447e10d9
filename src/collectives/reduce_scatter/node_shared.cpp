// What   This is reduce_scatter_block/node_shared with blocks of any lengths: every rank stages its blocks in its region of the node's segment, and
//        combines its own block from all ranks there. Short rows travel in packets, long ones part by part, in as many parts as the longest block
//        needs.
// When   One node.
// Cost   One flag latency a part + all blocks staged, and pm read and combined by every rank.
// Needs  A shared segment on the node. Parameters: packet (longest row of blocks that travels in packets), part (most of a block in one epoch).
// From   Ours, the first half of allreduce's node_shared; epochs and halves are explained in transport/control_block.h.

#include "collectives/reduce_scatter_block/node_shared.h"

namespace crossrail::reduce_scatter::node_shared {

using reduce_scatter_block::facts_of;
using reduce_scatter_block::NodeWay;

Fit fit(const Topology& topology, const Shape& shape) { return reduce_scatter_block::fit_staged(topology, shape); }

// The lengths of blocks are no part of the Shape, so each call finds out how its blocks
// travel. A single block of the largest possible length decides whether there is room.
Status plan(Plan& plan) {
  const Block longest{0, reduce_scatter_block::longest_elements(plan)};
  UnequalBlocks blocks(nullptr, &longest, 1);
  const NodeWay way = node_way(plan, facts_of(plan, blocks));
  return reduce_scatter_block::plan_staged(plan, way.packets || way.chunk > 0 || plan.shape.block_bytes == 0);
}

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.shape.block_bytes == 0) return {};
  const auto scattering = reduce_scatter_block::unequal_blocks(plan, buffers);
  const NodeWay way = reduce_scatter_block::node_way(plan, facts_of(plan, scattering.sent));
  return reduce_scatter_block::run_staged(plan, scattering, way);
}

}  // namespace crossrail::reduce_scatter::node_shared
