// This returns the members of Groups, to be compared.
#pragma once

#include <vector>

#include "topology/group.h"

namespace crossrail::tests {

inline std::vector<int> ranks_of(const Group& group) {
  std::vector<int> ranks;
  for (const int rank : group) ranks.push_back(rank);
  return ranks;
}
inline std::vector<std::vector<int>> ranks_of(const std::vector<Group>& groups) {
  std::vector<std::vector<int>> ranks;
  for (const Group& one : groups) ranks.push_back(ranks_of(one));
  return ranks;
}

}  // namespace crossrail::tests
