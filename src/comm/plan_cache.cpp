#include "comm/plan_cache.h"

namespace crossrail {

Plan* PlanCache::find(const Shape& shape) {
  if (plans_.empty()) return nullptr;
  if (plans_.front()->shape == shape) return plans_.front().get();
  const auto place = places_.find(shape);
  if (place == places_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, place->second);
  return plans_.front().get();
}

Plan& PlanCache::add(std::unique_ptr<Plan> plan) {
  if (plans_.size() >= capacity_) {
    places_.erase(plans_.back()->shape);
    plans_.pop_back();
  }
  plans_.push_front(std::move(plan));
  places_[plans_.front()->shape] = plans_.begin();
  return *plans_.front();
}

void PlanCache::clear() {
  places_.clear();
  plans_.clear();
}

}  // namespace crossrail
