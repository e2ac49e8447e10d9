// What   Every rank sends to rank+1, rank+2, ... and receives from rank-1, rank-2, ...; after
//        `throttle` such steps it waits for what it has posted.
// When   Medium and large blocks. `linear` is the same without a limit.
// Cost   (p-1)a + (p-1)mb, at most `throttle` messages in flight each way.
// Needs  Nothing; in place, a copy of the whole buffer. Parameters: throttle (steps, 32).
// From   OHIO paper, Table I (scatter destination); the throttle as in MPICH's scattered alltoall.

#include <algorithm>

#include "collectives/alltoall/send_side.h"
#include "collectives/throttle.h"

namespace crossrail::alltoall::scatter_destination {

Fit fit(const Topology& topology, const Shape& shape) { return fit_send_copy(topology, shape); }

Status plan(Plan& plan) {
  plan.keep(throttle_of(plan));
  return plan_messages(plan);
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  const Group group = plan.group;
  const int index = group.index(), size = group.size();
  const int throttle = plan.kept<int>();
  const std::byte* send = send_side(plan, buffers);
  copy_own_block(plan, buffers);
  for (int first = 1; first < size; first += throttle) {
    const int end = std::min(first + throttle, size);
    for (int step = first; step < end; ++step) {
      const int source = (index - step + size) % size;
      CROSSRAIL_TRY(plan.receive(group[source], buffers.recv + source * block, block));
    }
    for (int step = first; step < end; ++step) {
      const int destination = (index + step) % size;
      CROSSRAIL_TRY(plan.send(group[destination], send + destination * block, block));
    }
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace crossrail::alltoall::scatter_destination
