// A limit on messages in flight: some networks, and the matching of some MPI libraries, collapse
// under many at once.
#pragma once

#include <algorithm>

#include "collectives/algorithm.h"

namespace crossrail {

// Most messages that a rank has in flight each way. Parameter: throttle. For plan(): it is looked up by name.
inline int throttle_of(const Plan& plan) {
  const std::uint64_t throttle = plan.parameter("throttle", 32);
  return static_cast<int>(std::clamp<std::uint64_t>(throttle, 1, static_cast<std::uint64_t>(plan.topology->size)));
}

}  // namespace crossrail
