#include "comm/plan_cache.h"

#include <algorithm>
#include <tuple>

namespace crossrail {

PlanCache::Places::iterator PlanCache::place_of(std::uint64_t kind, std::uint64_t bytes) {
  return std::lower_bound(places_.begin(), places_.end(), std::tie(kind, bytes),
                          [](const Place& one, const auto& wanted) { return std::tie(one.kind, one.up_to) < wanted; });
}

void PlanCache::set_call(Plan& plan, const Shape& shape) {
  plan.shape.block_bytes = shape.block_bytes;
  plan.shape.root = shape.root;
  plan.hash = plan.shape.hash();
}

bool PlanCache::bring_to_front(std::uint64_t kind, std::uint64_t bytes) {
  const auto place = place_of(kind, bytes);
  if (place == places_.end() || place->kind != kind || !(*place->plan)->sizes.contain(bytes)) return false;
  plans_.splice(plans_.begin(), plans_, place->plan);
  last_kind_ = kind;
  return true;
}

void PlanCache::drop_last() {
  const Plan& last = *plans_.back();
  places_.erase(place_of(last.shape.kind(), last.sizes.up_to));
  plans_.pop_back();
}

Plan& PlanCache::add(std::unique_ptr<Plan> plan) {
  if (plans_.size() >= capacity_) drop_last();
  plan->hash = plan->shape.hash();
  const std::uint64_t kind = plan->shape.kind(), bytes = plan->shape.block_bytes;
  Plan::Sizes& sizes = plan->sizes;
  sizes = {std::min(sizes.from, bytes), std::max(sizes.up_to, bytes)};
  const auto after = place_of(kind, bytes);
  if (after != places_.end() && after->kind == kind) sizes.up_to = std::min(sizes.up_to, (*after->plan)->sizes.from - 1);
  if (after != places_.begin() && std::prev(after)->kind == kind) sizes.from = std::max(sizes.from, std::prev(after)->up_to + 1);
  plans_.push_front(std::move(plan));
  last_kind_ = kind;
  places_.insert(after, {kind, plans_.front()->sizes.up_to, plans_.begin()});
  return *plans_.front();
}

void PlanCache::clear() {
  places_.clear();
  plans_.clear();
}

}  // namespace crossrail
