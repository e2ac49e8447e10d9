// What   p-1 steps; in step s every rank exchanges one block with one partner: rank XOR s where p
//        is a power of two, otherwise to rank+s and from rank-s. Empty blocks are no messages.
// When   Large blocks on many ranks: never more than one message in flight each way.
// Cost   At most (p-1)a, and every rank's bytes.
// Needs  Nothing.
// From   OHIO paper, section III-A (partners of a step) and Table I.

#include "collectives/alltoallv/messages.h"
#include "collectives/partners.h"

namespace crossrail::alltoallv::pairwise {

bool fits(const Topology&, const Shape&) { return true; }

Status plan(Plan& plan) { return plan.links->open_messages(); }

Status run(Plan& plan, const Buffers& buffers) {
  const Group group = plan.group;
  copy_own_block(plan, buffers);
  for (int step = 1; step < group.size(); ++step) {
    const auto [to, from] = partners_of(group, step);
    CROSSRAIL_TRY(receive_block(plan, buffers, from));
    CROSSRAIL_TRY(send_block(plan, buffers, to));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace crossrail::alltoallv::pairwise
