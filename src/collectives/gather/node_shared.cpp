// What   Every rank leaves its block in its region of the node's segment and goes on; the root fetches it from there. Short blocks travel in
//        packets, cache lines that hold data and flag together; long ones chunk by chunk.
// When   One node.
// Cost   One flag latency a chunk + m staged by every rank and (p-1)m fetched by the root. A rank that sends waits only where the root is
//        more than a call behind.
// Needs  A shared segment on the node. Parameters: packet (longest block that travels in packets), part (most of a block in one epoch).
// From   Ours; epochs and halves are explained in transport/control_block.h, who waits for whom in collectives/rooted_node.h.

#include "collectives/rooted.h"
#include "collectives/rooted_node.h"

namespace crossrail::gather::node_shared {

Fit fit(const Topology& topology, const Shape&) { return fit_one_node(topology).planned(Planning::alone); }

Status plan(Plan& plan) { return plan.keep(RootedNode()).plan(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.shape.block_bytes == 0) return {};
  if (is_root(plan)) copy_own(plan, buffers);
  return plan.kept<RootedNode>().gather(plan, plan.shape.root, buffers.send, [&](int rank) { return block_in_row(plan, buffers.recv, rank); });
}

}  // namespace crossrail::gather::node_shared
