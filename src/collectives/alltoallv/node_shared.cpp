// What   Every rank puts its blocks into its region of the node's segment, in packets where they are
//        small, and fetches its own from the regions of those that have something for it. Long
//        blocks are read from their owner's memory, or go through the segment in chunks: where that is
//        not allowed, where they have gaps, and in place.
// When   One node. Uniform counts cost what alltoall costs; empty blocks cost nothing.
// Cost   One flag latency + 2 x every rank's bytes copied.
// Needs  A shared segment on the node. Parameters: packet, direct.
// From   Ours; forms of a row in collectives/node_rows.h, epochs in transport/control_block.h.

#include "collectives/alltoallv/messages.h"
#include "collectives/node_rows.h"

namespace crossrail::alltoallv::node_shared {

Fit fit(const Topology& topology, const Shape&) { return fit_one_node(topology).planned(Planning::alone); }

Status plan(Plan& plan) {
  plan.as_they_lie = Plan::AsTheyLie::all;
  return plan.keep(NodeRows()).plan(plan);
}

Status run(Plan& plan, const Buffers& buffers) {
  auto& rows = plan.kept<NodeRows>();
  CROSSRAIL_TRY(rows.publish(plan, buffers));
  copy_own_block(plan, buffers);
  return rows.fetch(plan, buffers);
}

}  // namespace crossrail::alltoallv::node_shared
