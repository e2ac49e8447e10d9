// Calls that go the MPI library's way, to compare it with ours (comm/speed_guard.h).
#pragma once

#include "comm/communicator.h"
#include "comm/shape.h"

namespace crossrail {

// False: such calls are not compared at all.
inline bool may_be_given_back(const Slot& slot) { return slot.owner.guard.on() && !slot.pending; }

// Whether a call that a plan on host memory could carry is the MPI library's this time, or for now. All ranks alike; the
// same on all. Errors: those of agree_on_largest.
Status is_given_back(Slot& slot, const Shape& shape, bool& given_back);

}  // namespace crossrail
