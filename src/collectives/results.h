// How results go from memory that ranks share to where the program wants them.
#pragma once

#include "collectives/algorithm.h"
#include "collectives/combine.h"
#include "collectives/parameters.h"

namespace crossrail {

// What copies a rank's results, so many bytes in all: past the caches from the plan's parameter `uncached` on, since these would lose the
// first ones before the last ones are there.
using CopyResults = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);
inline CopyResults copy_of_results(const Plan& plan, std::size_t all) {
  return all < plan.parameter(parameters::uncached) ? copy_in_cache : copy_past_caches;
}

}  // namespace crossrail
