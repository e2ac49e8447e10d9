// This is memory of ours in chunks, which can be exported, mapped by peers and freed whatever the device is at.
#pragma once

#include "place.h"

namespace gpu {

// It returns kNotSupported where the driver has no chunks.
Result make_own(Place& place, size_t bytes, Address* made);
bool free_own(Address memory);  // It returns false if it is not such memory.

bool is_own(Address memory);  // It must begin there.

}  // namespace gpu
