#include "topology/group.h"

#include <algorithm>
#include <utility>

namespace crossrail {

Group::Group(std::span<const int> ranks, int rank) : size_(static_cast<int>(ranks.size())) {
  if (ranks.empty()) return;
  first_ = ranks[0];
  stride_ = size_ > 1 ? ranks[1] - ranks[0] : 1;
  const auto unequal = [this](int one, int next) { return next - one != stride_; };
  if (std::adjacent_find(ranks.begin(), ranks.end(), unequal) != ranks.end()) list_ = ranks.data();
  const auto mine = std::find(ranks.begin(), ranks.end(), rank);
  if (mine != ranks.end()) index_ = static_cast<int>(mine - ranks.begin());
}

Group Group::world(int size, int rank) {
  Group group;
  group.size_ = size;
  group.index_ = rank;
  return group;
}

Group GroupLists::make(std::vector<int> ranks, int rank) {
  auto kept = std::make_shared<const std::vector<int>>(std::move(ranks));
  const Group group(*kept, rank);
  if (group.listed()) lists_.push_back(std::move(kept));
  return group;
}

}  // namespace crossrail
