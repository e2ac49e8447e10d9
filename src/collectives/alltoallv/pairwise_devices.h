// The part of pairwise on nodes whose ranks have their blocks in device memory, and the pieces that both parts send.
#pragma once

#include <algorithm>

#include "collectives/algorithm.h"
#include "collectives/parameters.h"

namespace crossrail::alltoallv::pairwise {

// Most of a block in one message.
inline std::size_t piece_bytes(const Plan& plan) {
  constexpr std::uint64_t kLeast = 64 * 1024;
  return plan.shared_bytes(std::max(kLeast, plan.parameter(parameters::piece)));
}

void plan_on_devices(Plan& plan);

}  // namespace crossrail::alltoallv::pairwise
