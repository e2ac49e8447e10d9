// What   Every rank puts its blocks into its region of the node's segment, in packets where they are
//        small, and fetches its own from the regions of those that have something for it. Long
//        blocks are read from their owner's memory, or are messages where that is not allowed.
// When   One node. Uniform counts cost what alltoall costs; empty blocks cost nothing.
// Cost   One flag latency + 2 x every rank's bytes copied.
// Needs  A shared segment on the node. Parameters: packet, direct, throttle.
// From   Ours; forms of a row in collectives/node_rows.h, epochs in transport/control_block.h.

#include "collectives/alltoallv/messages.h"
#include "collectives/node_rows.h"

namespace crossrail::alltoallv::node_shared {

bool fits(const Topology& topology, const Shape&) { return topology.one_node() && topology.shared_segment; }

namespace {

struct State {
  NodeRows rows;
  int throttle = 1;
};

bool is_message(const Plan& plan, int, std::size_t bytes) { return plan.kept<State>().rows.is_message(plan, bytes); }

}  // namespace

Status plan(Plan& plan) {
  const Status opened = plan.topology->single_copy ? Status{} : plan.links->open_messages();
  CROSSRAIL_TRY(plan.keep(State{{}, throttle_of(plan)}).rows.plan(plan));
  return opened;
}

Status run(Plan& plan, const Buffers& buffers) {
  auto& [rows, throttle] = plan.kept<State>();
  const bool messages = !plan.topology->single_copy;
  CROSSRAIL_TRY(rows.publish(plan, buffers));
  if (messages) CROSSRAIL_TRY(post_steps(plan, buffers, {1, std::min(1 + throttle, plan.group.size())}, is_message));
  copy_own_block(plan, buffers);
  CROSSRAIL_TRY(rows.fetch(plan, buffers));
  CROSSRAIL_TRY(rows.finish(plan));
  return messages ? finish_steps(plan, buffers, throttle, is_message) : Status{};
}

}  // namespace crossrail::alltoallv::node_shared
