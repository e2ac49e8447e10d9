// A RootedTree is a binomial tree of the ranks by their distance from the root. The lowest set bit of a rank's distance is the size of its subtree,
// which contains the ranks at the following distances as far as there are any.
#pragma once

#include <algorithm>
#include <bit>

#include "collectives/rooted.h"

namespace crossrail {

class RootedTree {
 public:
  explicit RootedTree(const Plan& plan)
      : group_(plan.group), root_(plan.shape.root), distance_((group_.index() - root_ + group_.size()) % group_.size()) {}

  // Returns the number of ranks in this one's subtree, including itself.
  int subtree() const { return ranks_from(distance_, whole()); }
  int parent() const { return member(distance_ - whole()); }
  // Calls `visit(rank, first, count)` for every child, the smallest subtree first.
  // Its subtree has `count` ranks, which begin at distance `first` from this rank.
  template <class Visit>
  Status for_children(Visit visit) const {
    for (int first = 1; first < whole() && distance_ + first < group_.size(); first *= 2) {
      CROSSRAIL_TRY(visit(member(distance_ + first), static_cast<std::size_t>(first), static_cast<std::size_t>(ranks_from(distance_ + first, first))));
    }
    return {};
  }
  template <class Visit>
  Status for_children_backwards(Visit visit) const {
    for (int first = whole() / 2; first > 0; first /= 2) {
      if (distance_ + first >= group_.size()) continue;
      CROSSRAIL_TRY(visit(member(distance_ + first), static_cast<std::size_t>(first), static_cast<std::size_t>(ranks_from(distance_ + first, first))));
    }
    return {};
  }

 private:
  // Returns the size that the subtree would have if there were enough ranks.
  int whole() const {
    const auto size = static_cast<unsigned>(group_.size());
    return static_cast<int>(distance_ == 0 ? std::bit_ceil(size) : static_cast<unsigned>(distance_ & -distance_));
  }
  int ranks_from(int distance, int most) const { return std::min(most, group_.size() - distance); }
  int member(int distance) const { return group_[(root_ + distance) % group_.size()]; }

  Group group_;
  int root_, distance_;
};

// A TurnedRow converts between the root's row, in the order of the ranks, and a row in the order of their distances from the root.
struct TurnedRow {
  std::size_t behind, before;  // They are the bytes of the blocks from the root's on, and of those before it.
  explicit TurnedRow(const Plan& plan)
      : behind(static_cast<std::size_t>(plan.group.size() - plan.shape.root) * plan.shape.block_bytes),
        before(static_cast<std::size_t>(plan.shape.root) * plan.shape.block_bytes) {}
};

}  // namespace crossrail
