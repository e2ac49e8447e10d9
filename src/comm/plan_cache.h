// PlanCache: the plans of a communicator, bounded. Which plan is dropped depends only on the
// sequence of Shapes, so that all ranks keep and drop the same ones.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

#include "comm/plan.h"

namespace crossrail {

class PlanCache {
 public:
  explicit PlanCache(std::size_t capacity) : capacity_(capacity < 1 ? 1 : capacity) {}
  // Null if there is none. A plan is for every root, and is given that of `shape`: a slot runs one call at a time.
  Plan* find(const Shape& shape);
  // Of a Shape that has none. Drops the least recently used plan when full.
  Plan& add(std::unique_ptr<Plan> plan);
  std::size_t size() const { return plans_.size(); }
  void clear();

 private:
  using Plans = std::list<std::unique_ptr<Plan>>;
  struct Hash {
    std::size_t operator()(const Shape& shape) const { return shape.hash(); }
  };

  std::size_t capacity_;
  Plans plans_;  // most recently used first
  std::unordered_map<Shape, Plans::iterator, Hash> places_;
};

}  // namespace crossrail
