// What   p-1 steps; in step s every rank exchanges one block with one partner: rank XOR s where p
//        is a power of two, otherwise to rank+s and from rank-s. Empty blocks are no messages.
// When   Large blocks on many ranks: never more than one message in flight each way.
// Cost   At most (p-1)a, and every rank's bytes.
// Needs  Nothing.
// From   OHIO paper, section III-A (partners of a step) and Table I.

#include "collectives/alltoallv/messages.h"

namespace crossrail::alltoallv::pairwise {

bool fits(const Topology&, const Shape&) { return true; }

Status plan(Plan& plan) { return plan.links->open_messages(); }

Status run(Plan& plan, const Buffers& buffers) {
  const int rank = plan.topology->rank;
  const int size = plan.topology->size;
  const bool power_of_two = (size & (size - 1)) == 0;
  copy_own_block(plan, buffers);
  for (int step = 1; step < size; ++step) {
    const int destination = power_of_two ? rank ^ step : (rank + step) % size;
    const int source = power_of_two ? rank ^ step : (rank - step + size) % size;
    CROSSRAIL_TRY(receive_block(plan, buffers, source));
    CROSSRAIL_TRY(send_block(plan, buffers, destination));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace crossrail::alltoallv::pairwise
