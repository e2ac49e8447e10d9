// What   The root leaves every rank's block in that rank's region of the node's segment and goes on; the ranks fetch theirs. Short blocks
//        travel in packets, cache lines that hold data and flag together; long ones chunk by chunk.
// When   One node.
// Cost   One flag latency a chunk + (p-1)m staged by the root and m fetched by every rank. The root waits only for ranks that are more than a
//        call behind.
// Needs  A shared segment on the node. Parameters: packet (longest block that travels in packets), part (most of a block in one epoch).
// From   Ours; epochs and halves are explained in transport/control_block.h, who waits for whom in collectives/rooted_node.h.

#include "collectives/rooted.h"
#include "collectives/rooted_node.h"

namespace crossrail::scatter::node_shared {

Fit fit(const Topology& topology, const Shape&) { return fit_one_node(topology).planned(Planning::alone); }

Status plan(Plan& plan) { return plan.keep(RootedNode()).plan(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.shape.block_bytes == 0) return {};
  CROSSRAIL_TRY(plan.kept<RootedNode>().scatter(plan, plan.shape.root, buffers.recv, [&](int rank) { return block_in_row(plan, buffers.send, rank); }));
  if (is_root(plan)) copy_own(plan, buffers);
  return {};
}

}  // namespace crossrail::scatter::node_shared
