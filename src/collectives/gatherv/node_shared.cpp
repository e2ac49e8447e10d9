// What   Every rank puts its block into its region of the node's segment and goes on; the root fetches them from there. Long blocks are read
//        from their owner's memory, or go through the segment in chunks: where that is not allowed, and where they have gaps.
// When   One node.
// Cost   One flag latency + every block copied by its rank and by the root; of long ones by the root only.
// Needs  A shared segment on the node. Parameters: packet, direct.
// From   Ours; forms of a row in collectives/node_rows.h, epochs in transport/control_block.h.

#include "collectives/rooted_vectors.h"

namespace crossrail::gatherv::node_shared {

Fit fit(const Topology& topology, const Shape&) { return fit_one_node(topology).planned(Planning::alone); }

Status plan(Plan& plan) { return rooted_vectors::plan_node(plan); }

Status run(Plan& plan, const Buffers& buffers) { return rooted_vectors::run_node(plan, buffers); }

}  // namespace crossrail::gatherv::node_shared
