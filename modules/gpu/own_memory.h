// Memory of ours, as chunks: they can be exported, mapped by peers and freed whatever the device is at.
#pragma once

#include "place.h"

namespace gpu {

// kNotSupported where the driver has no chunks.
Result make_own(Place& place, size_t bytes, Address* made);
bool free_own(Address memory);  // false if it is not such memory

bool is_own(Address memory);  // begins there

}  // namespace gpu
