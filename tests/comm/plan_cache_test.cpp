#include "comm/plan_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

namespace crossrail::tests {
namespace {

Shape shape_of(std::uint64_t bytes) { return {Collective::alltoall, Memory::host, false, bytes}; }

Plan& add(PlanCache& cache, std::uint64_t bytes, const Plan::Sizes& sizes = {}) {
  auto plan = std::make_unique<Plan>();
  plan->shape = shape_of(bytes);
  plan->sizes = sizes;
  return cache.add(std::move(plan));
}

TEST(PlanCache, finds_what_was_added) {
  PlanCache cache(4);
  EXPECT_EQ(cache.find(shape_of(1)), nullptr);
  Plan& one = add(cache, 1);
  Plan& two = add(cache, 2);
  EXPECT_EQ(cache.find(shape_of(1)), &one);
  EXPECT_EQ(cache.find(shape_of(2)), &two);
  EXPECT_EQ(cache.find({Collective::alltoall, Memory::host, true, 1}), nullptr);
}

TEST(PlanCache, drops_the_least_recently_used) {
  PlanCache cache(2);
  add(cache, 1);
  add(cache, 2);
  EXPECT_NE(cache.find(shape_of(1)), nullptr);  // 2 is now the older one.
  add(cache, 3);
  EXPECT_EQ(cache.find(shape_of(2)), nullptr);
  EXPECT_NE(cache.find(shape_of(1)), nullptr);
  EXPECT_NE(cache.find(shape_of(3)), nullptr);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(PlanCache, holds_one_at_least) {
  PlanCache cache(0);
  Plan& one = add(cache, 1);
  EXPECT_EQ(cache.find(shape_of(1)), &one);
  add(cache, 2);
  EXPECT_EQ(cache.size(), 1u);
}

// The cache is compared with a list that is kept by the definition of least recently used.
TEST(PlanCache, does_as_the_definition_says_for_a_random_sequence) {
  constexpr std::size_t kCapacity = 5;
  PlanCache cache(kCapacity);
  std::list<std::uint64_t> recent;
  std::mt19937 random(3);
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t bytes = random() % 9;
    const bool expected = std::find(recent.begin(), recent.end(), bytes) != recent.end();
    ASSERT_EQ(cache.find(shape_of(bytes)) != nullptr, expected) << step;
    recent.remove(bytes);
    recent.push_front(bytes);
    if (expected) continue;
    add(cache, bytes);
    if (recent.size() > kCapacity) recent.pop_back();
  }
}

TEST(PlanCache, a_plan_is_for_all_sizes_that_it_serves) {
  PlanCache cache(4);
  Plan& some = add(cache, 100, {50, 200});
  EXPECT_EQ(cache.find(shape_of(49)), nullptr);
  EXPECT_EQ(cache.find(shape_of(201)), nullptr);
  for (const std::uint64_t bytes : {50, 200, 120}) {
    ASSERT_EQ(cache.find(shape_of(bytes)), &some);
    EXPECT_EQ(some.shape.block_bytes, bytes);
  }
  EXPECT_EQ(cache.find({Collective::alltoall, Memory::host, true, 120}), nullptr) << "another kind of call";
}

TEST(PlanCache, a_plan_leaves_others_the_sizes_that_they_serve) {
  PlanCache cache(4);
  Plan& some = add(cache, 100, {50, 200});
  Plan& less = add(cache, 10, {0, ~std::uint64_t{0}});
  Plan& more = add(cache, 1000, {0, ~std::uint64_t{0}});
  EXPECT_EQ(cache.find(shape_of(49)), &less);
  EXPECT_EQ(cache.find(shape_of(50)), &some);
  EXPECT_EQ(cache.find(shape_of(200)), &some);
  EXPECT_EQ(cache.find(shape_of(201)), &more);
  EXPECT_EQ(cache.find(shape_of(~std::uint64_t{0})), &more);
}

// The cache is compared with a list in which every size is looked for.
TEST(PlanCache, does_as_the_definition_says_for_random_intervals) {
  constexpr std::size_t kCapacity = 6;
  struct Known {
    bool in_place;
    std::uint64_t from, up_to;
    const Plan* plan;
  };
  PlanCache cache(kCapacity);
  std::list<Known> recent;
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto kept = [&](bool in_place, std::uint64_t bytes) {
    return std::find_if(recent.begin(), recent.end(), [&](const Known& one) { return one.in_place == in_place && one.from <= bytes && bytes <= one.up_to; });
  };
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t bytes = random() % 60;
    const bool in_place = random() % 2 == 0;
    const Shape shape{Collective::alltoall, Memory::host, in_place, bytes};
    const auto known = kept(in_place, bytes);
    ASSERT_EQ(cache.find(shape), known == recent.end() ? nullptr : known->plan) << "seed " << seed << ", step " << step;
    if (known != recent.end()) {
      recent.splice(recent.begin(), recent, known);
      continue;
    }
    if (recent.size() == kCapacity) recent.pop_back();
    std::uint64_t from = bytes, up_to = bytes;
    auto plan = std::make_unique<Plan>();
    plan->shape = shape;
    plan->serve(bytes - std::min<std::uint64_t>(bytes, random() % 20), bytes + random() % 20);
    while (from > plan->sizes.from && kept(in_place, from - 1) == recent.end()) --from;
    while (up_to < plan->sizes.up_to && kept(in_place, up_to + 1) == recent.end()) ++up_to;
    recent.push_front({in_place, from, up_to, plan.get()});
    cache.add(std::move(plan));
  }
}

}  // namespace
}  // namespace crossrail::tests
