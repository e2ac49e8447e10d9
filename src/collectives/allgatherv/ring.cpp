// What   This is allgather/ring with blocks of any lengths: size - 1 steps, in which every rank passes on the block that it got in the step before.
//        Empty blocks are no messages.
// When   Long blocks; messages go between neighbours only.
// Cost   (p-1)(a + mb), m being the longest block.
// Needs  Nothing.
// From   Thakur, Rabenseifner, Gropp 2005, section 4.1.

#include "collectives/allgather/ring.h"

namespace crossrail::allgatherv::ring {

Fit fit(const Topology&, const Shape&) { return {}; }

Status plan(Plan& plan) { return plan.links->open_messages(); }

Status run(Plan& plan, const Buffers& buffers) {
  return plan.shape.block_bytes == 0 ? Status{} : allgather::run_ring(plan, allgather::unequal_blocks(plan, buffers));
}

}  // namespace crossrail::allgatherv::ring
