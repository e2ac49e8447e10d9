// What   Every rank stages its blocks in its region of the node's segment, and combines its own block from all ranks there. Short rows travel in
//        packets, cache lines that hold data and flag together; long ones part by part, one flag each.
// When   One node.
// Cost   One flag latency a part + pm staged and pm read and combined by every rank. Alternating halves: no closing barrier.
// Needs  A shared segment on the node. Parameters: packet (longest row of blocks that travels in packets), part (most of a block in one epoch).
// From   Ours, the first half of allreduce's node_shared; epochs and halves are explained in transport/control_block.h.

#include <algorithm>

#include "collectives/reduce_scatter_block/node_shared.h"

namespace crossrail::reduce_scatter_block::node_shared {

Fit fit(const Topology& topology, const Shape& shape) { return fit_staged(topology, shape); }

Status plan(Plan& plan) {
  const std::size_t size = static_cast<std::size_t>(plan.group.size());
  plan.chunk_bytes = staged_at_a_time(plan);
  const std::uint64_t wanted = plan.chunk_bytes == 0 ? Plan::kAnySize : plan.parameter(parameters::packet) / size;
  const std::uint64_t longest = std::min<std::uint64_t>(wanted, plan.control->layout().packet_count / size * packet_bytes(plan));
  plan.packets = plan.shape.block_bytes <= longest;
  plan.serve(plan.packets ? 0 : longest + 1, plan.packets ? longest : Plan::kAnySize);
  return plan_staged(plan, plan.packets || plan.chunk_bytes > 0);
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (block == 0) return {};
  return run_staged(plan, equal_blocks(plan, buffers), {plan.packets, std::min(plan.chunk_bytes, block)});
}

}  // namespace crossrail::reduce_scatter_block::node_shared
