// What   p-1 steps; in step s every rank exchanges one block with one partner: rank XOR s where p
//        is a power of two, otherwise to rank+s and from rank-s. Empty blocks are no messages.
// When   Large blocks on many ranks: never more than one message in flight each way.
// Cost   At most (p-1)a, and every rank's bytes.
// Needs  Nothing. Parameters: piece (bytes of a long block in one message, 4 MiB; 512 KiB for each of the rank's processes where that is more),
//        processes (of each rank, its helpers among them, that share long messages).
// From   OHIO paper, section III-A (partners of a step) and Table I.

#include "collectives/alltoallv/messages.h"
#include "collectives/alltoallv/pairwise_devices.h"
#include "collectives/partners.h"

namespace crossrail::alltoallv::pairwise {

Fit fit(const Topology&, const Shape&) { return {}; }

Status plan(Plan& plan) {
  plan.share_with_helpers(plan.parameter(parameters::processes));
  plan.keep(plan_messages(plan));
  plan_on_devices(plan);
  return plan.links->open_messages();
}

Status run(Plan& plan, const Buffers& buffers) {
  const Group group = plan.group;
  auto& state = plan.kept<State>();
  copy_own_block(plan, buffers);
  for (int step = 1; step < group.size(); ++step) {
    const auto [to, from] = partners_of(group, step);
    std::size_t& came = state.came[static_cast<std::size_t>(from)] = 0;
    CROSSRAIL_TRY(receive_block(plan, buffers, {from, came, state.piece}));
    CROSSRAIL_TRY(send_block(plan, buffers, to, state.piece));
    CROSSRAIL_TRY(plan.links->wait_posted());
    buffers.came_from(from, came);
  }
  return {};
}

}  // namespace crossrail::alltoallv::pairwise
