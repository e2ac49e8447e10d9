#include "comm/plan_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

namespace crossrail::tests {
namespace {

Shape shape_of(std::uint64_t bytes) { return {Collective::alltoall, Memory::host, false, bytes}; }

Plan& add(PlanCache& cache, std::uint64_t bytes) {
  auto plan = std::make_unique<Plan>();
  plan->shape = shape_of(bytes);
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
  EXPECT_NE(cache.find(shape_of(1)), nullptr);  // 2 is now the older
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

// Against a list that is kept by the definition of least recently used.
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

}  // namespace
}  // namespace crossrail::tests
