// The part of pairwise on nodes whose ranks have their blocks in device memory, and the pieces that both parts send.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algorithm.h"
#include "collectives/parameters.h"

namespace crossrail::alltoallv::pairwise {

struct State {
  std::size_t piece;              // most of a block in one message
  std::vector<std::size_t> came;  // from every member
};

inline State plan_messages(const Plan& plan) {
  constexpr std::uint64_t kLeast = 64 * 1024;
  const std::size_t piece = plan.shared_bytes(std::max(kLeast, plan.parameter(parameters::piece)));
  // A line more than was asked for: of a block of two pieces exactly a third, empty one would have to tell that it ends (messages.h).
  return {std::min(round_up(piece, kCacheLineBytes) + kCacheLineBytes, Links::kMostPiece), std::vector<std::size_t>(static_cast<std::size_t>(plan.group.size()))};
}

void plan_on_devices(Plan& plan);

}  // namespace crossrail::alltoallv::pairwise
