// All calls on devices go through this file. Ranks may pass any memory, so the ranks of a node tell each
// other in every call where their sides lie (descriptors). The call runs on devices only if all sides lie
// there. When the ranks exchange descriptors, and what these contain, depends on where the call runs:
//
//   one node        before there is a plan, since its Shape is then one on device memory. If a fresh plan maps memory, they exchange
//                   descriptors again.
//   several nodes   with the plan, on which all ranks have agreed: each node checks its own sides and does its part, and messages between
//                   nodes are the same. At the first call of a Shape they do so before there is a plan, because all ranks choose it by that.
//   a stream        in the communicator's first call, and in those whose plan maps memory. Packets go through memory that has been mapped
//                   before, so their calls ask no other rank. Nothing is staged, because staging blocks and streams do not.
#pragma once

#include "base/trace.h"
#include "comm/communicator.h"
#include "comm/user_buffers.h"

namespace crossrail {

// Runs a plan and counts the call.
inline Status run_plan(Plan& plan, const Buffers& buffers, Status (*run)(Plan&, const Buffers&)) {
  plan.last = {};
  const trace::Slice traced(trace::on() ? trace::begin({plan.algorithm, trace::Kind::phase, plan.shape.block_bytes, -1, plan.links->traced_call()}) : 0);
  const Status status = run(plan, buffers);
  if (!status.ok() && plan.helper_links != nullptr) plan.helper_links->cancel_posted();
  ++plan.calls;
  plan.total += plan.last;
  return status;
}

// Returns whether calls of this Shape on this slot may run on the devices of one node.
bool may_be_on_devices(const Slot& slot, const Shape& shape);
// Leaves `plan` null if the call must go through host memory: some rank has a side there, no algorithm fits, or some rank cannot map the memory of
// another one, which all ranks see alike.
Status run_on_devices(Slot& slot, Shape shape, UserBuffers& user, Plan*& plan);

// Serves calls on several nodes. Drivers may be loaded at any time. All ranks ask each other at their calls 1, 2, 4, ..., and when a driver has been
// found they forget the plans that were made without devices.
Status ask_for_drivers(Slot& slot);
// Finds at the first call of a Shape whether all ranks of all nodes have both sides in device memory. It is false if the ranks are on one node.
Status first_on_devices(Slot& slot, const Shape& shape, UserBuffers& user, bool& on_devices);
// Serves a plan that can run on devices. `done` says that this node's part of the call has run there.
Status run_on_devices_of_node(Slot& slot, UserBuffers& user, Plan& plan, bool& done);

// These serve the functions of engine.h of the same names.
Status open_stream_order(Slot& slot, const DeviceSide& near, WantsMessages messages);
Status messages_on_stream(Slot& slot, const Messages& messages, void* stream);
bool meets_nobody(Slot& slot, const Shape& shape);
// Comes before a call in the order of a stream begins. It asks no other rank, and fails if this one cannot make a call that others may make meanwhile.
Status check_own_sides(Slot& slot, const Shape& shape, UserBuffers& user);
// Enqueues the call. Errors: those of run_on_stream.
Status enqueue_on_devices(Slot& slot, const Shape& shape, UserBuffers& user, void* stream);

}  // namespace crossrail
