// This limits the messages in flight, because some networks, and the matching of some MPI libraries, become very slow with many at once.
#pragma once

#include "collectives/algorithm.h"
#include "collectives/parameters.h"

namespace crossrail {

// Returns how many messages a rank may have in flight in each direction. plan() calls it.
inline int throttle_of(const Plan& plan) {
  return static_cast<int>(plan.parameter(parameters::throttle));
}

}  // namespace crossrail
