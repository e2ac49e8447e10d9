// PlanCache holds a limited number of plans of a slot. A plan serves an interval of sizes of one kind of call, and the intervals of a kind do not
// overlap. Which plan is dropped depends only on the sequence of Shapes, so all ranks keep and drop the same ones.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "comm/plan.h"

namespace crossrail {

class PlanCache {
 public:
  explicit PlanCache(std::size_t capacity) : capacity_(capacity < 1 ? 1 : capacity) {}
  // Returns the plan that serves such a call, or null. The plan is made for this call from now on: its shape becomes the call's.
  Plan* find(const Shape& shape) {
    const std::uint64_t kind = shape.kind();
    if (plans_.empty() || kind != last_kind_ || !plans_.front()->sizes.contain(shape.block_bytes)) {
      if (!bring_to_front(kind, shape.block_bytes)) return nullptr;
    }
    Plan& plan = *plans_.front();
    if (plan.shape.block_bytes != shape.block_bytes || plan.shape.root != shape.root) set_call(plan, shape);
    return &plan;
  }
  // Adds a plan for a Shape that has none. It does not take over sizes that other
  // plans serve. Drops the least recently used plan when the cache is full.
  Plan& add(std::unique_ptr<Plan> plan);
  std::size_t size() const { return plans_.size(); }
  void clear();

 private:
  using Plans = std::list<std::unique_ptr<Plan>>;
  struct Place {
    std::uint64_t kind, up_to;
    Plans::iterator plan;
  };
  using Places = std::vector<Place>;

  // Returns the place after all plans that serve only smaller blocks.
  Places::iterator place_of(std::uint64_t kind, std::uint64_t bytes);
  static void set_call(Plan& plan, const Shape& shape);
  bool bring_to_front(std::uint64_t kind, std::uint64_t bytes);
  void drop_last();

  std::size_t capacity_;
  Plans plans_;  // The most recently used plan comes first.
  std::uint64_t last_kind_ = 0;  // It is the kind of the first plan.
  Places places_;  // They are sorted by kind, then by size.
};

}  // namespace crossrail
