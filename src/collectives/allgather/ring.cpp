// What   size - 1 steps: every rank sends the block that it got in the step before, at first its own, to the next one.
// When   Long blocks; messages go between neighbours only.
// Cost   (p-1)(a + mb).
// Needs  Nothing.
// From   Thakur, Rabenseifner, Gropp 2005, section 4.1.

#include "collectives/allgather/ring.h"

namespace crossrail::allgather::ring {

Fit fit(const Topology&, const Shape&) { return Fit().planned(Planning::when_larger); }

Status plan(Plan& plan) { return plan.links->open_messages(); }

Status run(Plan& plan, const Buffers& buffers) {
  return plan.shape.block_bytes == 0 ? Status{} : run_ring(plan, equal_blocks(plan, buffers));
}

}  // namespace crossrail::allgather::ring
