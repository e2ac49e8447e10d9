// What   This is allgather/node_shared with blocks of any lengths: every rank copies its block into its region of the node's segment; the others
//        fetch it from there. If all blocks are short they travel in packets, otherwise part by part, in as many parts as the longest block needs. No
//        rank waits for a rank whose block, or part, is empty.
// When   One node.
// Cost   One flag latency a part of the longest block + m staged and all blocks fetched by every rank.
// Needs  A shared segment on the node. Parameters: packet (longest block that travels in packets), part (most of a block in one epoch),
//        uncached (least bytes of all blocks that are written past the caches).
// From   Ours; epochs and halves are explained in transport/control_block.h.

#include <algorithm>

#include "collectives/allgather/node_shared.h"

namespace crossrail::allgatherv::node_shared {

Fit fit(const Topology& topology, const Shape&) { return fit_one_node(topology).planned(Planning::alone); }

// The lengths of blocks are no part of the Shape, so each call finds out how
// its blocks travel. The longest possible block decides whether there is room.
Status plan(Plan& plan) {
  const bool room = longest_possible(plan) <= allgather::longest_in_packets(plan) || allgather::staged_at_a_time(plan) > 0;
  return room ? Status{} : failed(Code::no_memory, allgather::kNoRoomForPart);
}

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.shape.block_bytes == 0) return {};
  const auto blocks = allgather::unequal_blocks(plan, buffers);
  const std::size_t longest = blocks.received.longest();
  return allgather::run_node_shared(plan, blocks, {longest <= allgather::longest_in_packets(plan), std::min(longest, allgather::staged_at_a_time(plan))});
}

}  // namespace crossrail::allgatherv::node_shared
