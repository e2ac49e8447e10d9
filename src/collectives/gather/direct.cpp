// What   Every rank sends its block to the root.
// When   Long blocks; whatever no other algorithm is for.
// Cost   (p-1)(a + mb) at the root, one message elsewhere.
// Needs  Nothing.
// From   Thakur, Rabenseifner, Gropp 2005, section 2.

#include "collectives/rooted.h"

namespace crossrail::gather::direct {

Fit fit(const Topology&, const Shape&) { return Fit().planned(Planning::when_larger); }

Status plan(Plan& plan) {
  plan.serve(0, Plan::kAnySize);
  return plan.links->open_messages();
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  const Group group = plan.group;
  if (block == 0) return {};
  if (!is_root(plan)) {
    CROSSRAIL_TRY(plan.send(group[plan.shape.root], buffers.send, block));
    return plan.links->wait_posted();
  }
  for (int step = 1; step < group.size(); ++step) {
    const int rank = (group.index() + step) % group.size();
    CROSSRAIL_TRY(plan.receive(group[rank], block_in_row(plan, buffers.recv, rank), block));
  }
  copy_own(plan, buffers);
  return plan.links->wait_posted();
}

}  // namespace crossrail::gather::direct
