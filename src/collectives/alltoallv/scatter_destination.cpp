// What   Every rank sends to rank+1, rank+2, ... and receives from rank-1, rank-2, ...; after
//        `throttle` such steps it waits for what it has posted. Empty blocks are no messages.
// When   Medium blocks, sparse rows. The limit is for networks that collapse under many messages
//        at once, and for MPI libraries whose matching slows down with them.
// Cost   At most (p-1)a, and every rank's bytes; at most `throttle` messages in flight each way.
// Needs  Nothing. Parameters: throttle (steps, 32).
// From   OHIO paper, Table I (scatter destination); the throttle as in MPICH's scattered alltoallv.

#include <algorithm>

#include "collectives/alltoallv/messages.h"

namespace crossrail::alltoallv::scatter_destination {
namespace {

struct State {
  int throttle;
  std::vector<std::size_t> came;  // They count what has arrived from each member.
};

}  // namespace

Fit fit(const Topology&, const Shape&) { return {}; }

Status plan(Plan& plan) {
  plan.keep(State{throttle_of(plan), std::vector<std::size_t>(static_cast<std::size_t>(plan.group.size()))});
  return plan.links->open_messages();
}

Status run(Plan& plan, const Buffers& buffers) {
  auto& state = plan.kept<State>();
  BlockMessages messages(plan, buffers, state.came, every_block);
  CROSSRAIL_TRY(messages.post({1, std::min(1 + state.throttle, plan.group.size())}));
  copy_own_block(plan, buffers);
  return messages.finish(state.throttle);
}

}  // namespace crossrail::alltoallv::scatter_destination
