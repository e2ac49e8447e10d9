// What   Every rank posts a receive from and a send to every other rank, then waits for all.
// When   Large blocks and few ranks; the baseline.
// Cost   (p-1)a + (p-1)mb, all messages in flight at once.
// Needs  Nothing; in place, a copy of the whole buffer.
// From   OHIO paper, Table I (flat algorithms); Thakur, Rabenseifner, Gropp 2005, section 4.3.

#include "collectives/alltoall/send_side.h"

namespace crossrail::alltoall::linear {

Fit fit(const Topology& topology, const Shape& shape) { return fit_send_copy(topology, shape); }

Status plan(Plan& plan) { return plan_messages(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  const Group group = plan.group;
  const int index = group.index(), size = group.size();
  const std::byte* send = send_side(plan, buffers);
  for (int step = 1; step < size; ++step) {
    const int source = (index - step + size) % size;
    CROSSRAIL_TRY(plan.receive(group[source], buffers.recv + source * block, block));
  }
  for (int step = 1; step < size; ++step) {
    const int destination = (index + step) % size;
    CROSSRAIL_TRY(plan.send(group[destination], send + destination * block, block));
  }
  copy_own_block(plan, buffers);
  return plan.links->wait_posted();
}

}  // namespace crossrail::alltoall::linear
