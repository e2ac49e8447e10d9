// What   Every rank stages its blocks in its region of the node's segment, and combines its own of all ranks there. Short rows travel in
//        packets, cache lines that hold data and flag together; long ones part by part, one flag each.
// When   One node.
// Cost   One flag latency a part + pm staged and pm read and combined by every rank. Alternating halves: no closing barrier.
// Needs  A shared segment on the node. Parameters: packet (longest row of blocks that travels in packets), part (most of a block in one epoch).
// From   Ours, the first half of allreduce's node_shared; epochs and halves are explained in transport/control_block.h.

#include "collectives/reduce_scatter_block/node_shared.h"

namespace crossrail::reduce_scatter_block::node_shared {

Fit fit(const Topology& topology, const Shape& shape) { return fit_staged(topology, shape); }

Status plan(Plan& plan) {
  const NodeWay way = node_way(plan, facts_of(plan, EqualBlocks{nullptr, plan.shape.block_bytes}));
  plan.packets = way.packets;
  plan.chunk_bytes = way.chunk;
  return plan_staged(plan, way);
}

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.shape.block_bytes == 0) return {};
  return run_staged(plan, equal_blocks(plan, buffers), {plan.packets, plan.chunk_bytes});
}

}  // namespace crossrail::reduce_scatter_block::node_shared
