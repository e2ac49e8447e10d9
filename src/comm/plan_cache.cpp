#include "comm/plan_cache.h"

namespace crossrail {

Plan* PlanCache::find(const Shape& shape) {
  for (auto at = plans_.begin(); at != plans_.end(); ++at) {
    if ((*at)->shape != shape) continue;
    if (at != plans_.begin()) plans_.splice(plans_.begin(), plans_, at);
    return plans_.front().get();
  }
  return nullptr;
}

Plan& PlanCache::add(std::unique_ptr<Plan> plan) {
  if (plans_.size() >= capacity_) plans_.pop_back();
  plans_.push_front(std::move(plan));
  return *plans_.front();
}

}  // namespace crossrail
