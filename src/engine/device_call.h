// The one door to devices. Ranks may pass what they like, so those of a node tell each other in every call where their sides lie (descriptors),
// and only where all lie on devices is the call done there. When they do so, and what they say, depends on where the call is done:
//
//   one node        before there is a plan, since its Shape is then one on device memory. Exchanged anew with what a fresh plan maps.
//   several nodes   with the plan, which all ranks have agreed on: each node sees for itself and does its part; messages between nodes are
//                   the same. The first call of a Shape is told of before there is a plan, which all ranks choose by it.
//   a stream        as on one node, but nothing is staged: staging takes its turn, and streams do not.
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
  if (!status.ok() && plan.helper_links != nullptr) plan.helper_links->cancel_posted();
  ++plan.calls;
  plan.total += plan.last;
  return status;
}

// Whether calls of this Shape on this slot may be done on the devices of one node.
bool may_be_on_devices(const Slot& slot, const Shape& shape);
// Leaves `plan` null where the call must go through host memory: some rank has a side there, no
// algorithm fits, or (seen by all ranks alike) some rank cannot map the memory of another.
Status run_on_devices(Slot& slot, Shape shape, UserBuffers& user, Plan*& plan);

// Several nodes. Drivers may be loaded at any time. All ranks ask at their calls 1, 2, 4, ..., and forget then what has been planned without
// devices.
Status ask_for_drivers(Slot& slot);
// The first call of a Shape: whether all ranks of all nodes have both sides in device memory. False where ranks are on one node.
Status first_on_devices(Slot& slot, const Shape& shape, UserBuffers& user, bool& on_devices);
// For a plan that can run on devices. `done`: this node's part of the call has been done there.
Status run_on_devices_of_node(Slot& slot, UserBuffers& user, Plan& plan, bool& done);

// In the order of a stream. Errors as of run_on_stream.
Status enqueue_on_devices(Slot& slot, const Shape& shape, UserBuffers& user, void* stream);

}  // namespace crossrail
