// What   Every rank copies its block into its region of the node's segment; the others fetch it from there. Short blocks travel in
//        packets, cache lines that hold data and flag together; long ones part by part, one flag each.
// When   One node.
// Cost   One flag latency a part + m staged and pm fetched by every rank. Alternating halves: no closing barrier.
// Needs  A shared segment on the node. Parameters: packet (longest block that travels in packets), part (most of a block in one epoch),
//        uncached (least bytes of all blocks that are written past the caches).
// From   Ours; epochs and halves are explained in transport/control_block.h.

#include <algorithm>

#include "collectives/allgather/node_shared.h"

namespace crossrail::allgather::node_shared {

Fit fit(const Topology& topology, const Shape&) { return fit_one_node(topology).planned(Planning::alone); }

Status plan(Plan& plan) {
  plan.chunk_bytes = staged_at_a_time(plan);
  const std::uint64_t longest = longest_in_packets(plan);
  plan.packets = plan.shape.block_bytes <= longest;
  plan.serve(plan.packets ? 0 : longest + 1, plan.packets ? longest : Plan::kAnySize);
  return plan.packets || plan.chunk_bytes > 0 ? Status{} : failed(Code::no_memory, kNoRoomForPart);
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (block == 0) return {};
  return run_node_shared(plan, equal_blocks(plan, buffers), {plan.packets, std::min(plan.chunk_bytes, block)});
}

}  // namespace crossrail::allgather::node_shared
