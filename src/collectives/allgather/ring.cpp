// What   size - 1 steps: every rank sends the block that it got in the step before, at first its own, to the next one.
// When   Long blocks; messages go between neighbours only.
// Cost   (p-1)(a + mb).
// Needs  Nothing.
// From   Thakur, Rabenseifner, Gropp 2005, section 4.1.

#include "collectives/allgather/own_block.h"

namespace crossrail::allgather::ring {

Fit fit(const Topology&, const Shape&) { return Fit().planned(Planning::when_larger); }

Status plan(Plan& plan) { return plan.links->open_messages(); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (block == 0) return {};
  const Group group = plan.group;
  const int index = group.index(), size = group.size();
  copy_own(plan, buffers, 0, block);
  for (int step = 0; step < size - 1; ++step) {
    const int sent = (index - step + size) % size, got = (sent - 1 + size) % size;
    CROSSRAIL_TRY(plan.receive(group[(index - 1 + size) % size], received(plan, buffers, got), block));
    CROSSRAIL_TRY(plan.send(group[(index + 1) % size], received(plan, buffers, sent), block));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace crossrail::allgather::ring
