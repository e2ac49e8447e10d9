// A limit on messages in flight: some networks, and the matching of some MPI libraries, collapse
// under many at once.
#pragma once

#include "collectives/algorithm.h"
#include "collectives/parameters.h"

namespace crossrail {

// Most messages that a rank has in flight each way. For plan().
inline int throttle_of(const Plan& plan) {
  return static_cast<int>(plan.parameter(parameters::throttle));
}

}  // namespace crossrail
