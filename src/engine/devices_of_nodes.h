// Calls on device memory where the ranks are on several nodes: each node sees for itself whether all sides of its ranks are in device
// memory, and does its part there or by processors; messages between nodes are the same. Which algorithm a Shape gets is agreed on by
// all ranks in its first call.
#pragma once

#include "base/trace.h"
#include "comm/communicator.h"
#include "comm/user_buffers.h"

namespace crossrail {

// `run` of a plan, counted.
inline Status run_plan(Plan& plan, const Buffers& buffers, Status (*run)(Plan&, const Buffers&)) {
  plan.last = {};
  const trace::Slice traced(trace::on() ? trace::begin({plan.algorithm, trace::Kind::phase, plan.shape.block_bytes, -1, plan.links->traced_call()}) : 0);
  const Status status = run(plan, buffers);
  if (!status.ok() && plan.courier_links != nullptr) plan.courier_links->cancel_posted();
  ++plan.calls;
  plan.total += plan.last;
  return status;
}

// Drivers may be loaded at any time. All ranks ask at their calls 1, 2, 4, ..., and forget then what has been planned without devices.
Status ask_for_drivers(Slot& slot);

// The first call of a Shape: whether all ranks of all nodes have both sides in device memory. False where ranks are on one node.
Status first_on_devices(Slot& slot, const Shape& shape, UserBuffers& user, bool& on_devices);

// Of a plan that can run on devices. `done`: this node's part of the call has been done on its devices.
Status run_on_devices_of_node(Slot& slot, UserBuffers& user, Plan& plan, bool& done);

}  // namespace crossrail
