// SpeedGuard hands some calls to MPI to compare its speed with ours (comm/speed_guard.h). This file decides which.
#pragma once

#include "comm/communicator.h"
#include "comm/shape.h"

namespace crossrail {

// Returns false if calls on this slot are not compared at all.
inline bool may_be_given_back(const Slot& slot) { return slot.owner.guard.on() && !slot.pending; }

// Finds whether a call that a plan on host memory could handle is native, this time or
// for now. All ranks call it and get the same answer. Errors: those of agree_on_largest.
Status compare(Slot& slot, const Shape& shape, bool& given_back);
inline Status is_given_back(Slot& slot, const Shape& shape, bool& given_back) {
  return slot.owner.guard.between_windows(shape, given_back) ? Status{} : compare(slot, shape, given_back);
}

}  // namespace crossrail
