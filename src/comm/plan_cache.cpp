#include "comm/plan_cache.h"

namespace crossrail {

Plan* PlanCache::find(const Shape& shape) {
  if (plans_.empty()) return nullptr;
  if (plans_.front()->shape.of_any_root() != shape.of_any_root()) {
    const auto place = places_.find(shape.of_any_root());
    if (place == places_.end()) return nullptr;
    plans_.splice(plans_.begin(), plans_, place->second);
  }
  plans_.front()->shape.root = shape.root;
  return plans_.front().get();
}

Plan& PlanCache::add(std::unique_ptr<Plan> plan) {
  if (plans_.size() >= capacity_) {
    places_.erase(plans_.back()->shape.of_any_root());
    plans_.pop_back();
  }
  plans_.push_front(std::move(plan));
  places_[plans_.front()->shape.of_any_root()] = plans_.begin();
  return *plans_.front();
}

void PlanCache::clear() {
  places_.clear();
  plans_.clear();
}

}  // namespace crossrail
