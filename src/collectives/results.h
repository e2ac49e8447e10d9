// This file copies results from memory that ranks share to where the program wants them.
#pragma once

#include "collectives/algorithm.h"
#include "collectives/combine.h"
#include "collectives/parameters.h"

namespace crossrail {

// Such a function copies a rank's results, `bytes` in all. From the plan's parameter `uncached` on, it bypasses the caches, since these would lose
// the first results before the last ones are there.
using CopyResults = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);
inline CopyResults copy_of_results(const Plan& plan, std::size_t all) {
  return all < plan.parameter(parameters::uncached) ? copy_in_cache : copy_past_caches;
}

}  // namespace crossrail
