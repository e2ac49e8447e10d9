#include "base/free_addresses.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

namespace crossrail {
namespace {

using Ranges = std::vector<AddressRange>;

bool fits(const Ranges& room, const Ranges& ranges, std::intptr_t by) {
  return std::all_of(ranges.begin(), ranges.end(), [&](const AddressRange& range) {
    const auto begin = static_cast<std::intptr_t>(range.begin) + by, end = static_cast<std::intptr_t>(range.end) + by;
    return std::any_of(room.begin(), room.end(), [=](const AddressRange& gap) {
      return begin >= static_cast<std::intptr_t>(gap.begin) && end <= static_cast<std::intptr_t>(gap.end);
    });
  });
}

bool is_in(const std::vector<Distances>& all, std::intptr_t by) {
  return std::any_of(all.begin(), all.end(), [by](const Distances& one) { return by >= one.least && by <= one.most; });
}

TEST(FreeAddresses, DistancesAreThoseByWhichAllRangesFit) {
  const Ranges room{{10, 40}, {55, 60}, {70, 140}, {150, 152}};
  const std::vector<Ranges> cases{{{0, 5}}, {{0, 5}, {50, 53}}, {{45, 50}, {142, 149}}, {{60, 70}, {140, 150}, {300, 301}}, {{0, 71}}, {{0, 30}, {200, 270}}, {}};
  for (const Ranges& ranges : cases) {
    const std::vector<Distances> all = distances_into(room, ranges);
    for (std::intptr_t by = -400; by < 400; ++by) EXPECT_EQ(is_in(all, by), fits(room, ranges, by)) << by;
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const Distances& a, const Distances& b) { return a.most - a.least > b.most - b.least; }));
  }
}

TEST(FreeAddresses, NoneWhereOneRangeHasNoRoom) {
  EXPECT_TRUE(distances_into({{10, 40}}, {{0, 31}}).empty());
  EXPECT_TRUE(distances_into({{10, 40}}, {{0, 10}, {100, 110}}).empty());
  EXPECT_TRUE(distances_into({}, {{0, 1}}).empty());
}

TEST(FreeAddresses, WhatIsMappedIsNotFree) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  void* const memory = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  const Ranges room = free_addresses();
  ASSERT_FALSE(room.empty());
  std::uintptr_t last = 0;
  for (const AddressRange& gap : room) {
    EXPECT_LT(gap.begin, gap.end);
    EXPECT_GE(gap.begin, last);
    EXPECT_TRUE(gap.end <= at || gap.begin >= at + kBytes);
    last = gap.end;
  }
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace crossrail
