// These tests check what a side touches in its memory, without its gaps.
#include "mpi/buffers/side_parts.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "mpi/buffers/flatten.h"
#include "tests/mpi/units/fake_mpi.h"

namespace crossrail::mpi {
namespace {

struct Typed {
  std::shared_ptr<const Layout> layout;
  Side side;
};

// Describes `count` elements of every second of six ints, `extent` bytes each.
Typed every_second(void* address, std::uint64_t count) {
  fake::forget_all();
  const MPI_Datatype type = fake::resized(fake::vector(3, 1, 2, MPI_INT), 0, 24);
  Typed made{flatten(type, Effort::any).layout, {address, count, type, {}}};
  made.side.facts.bytes = 12;
  made.side.facts.layout = made.layout.get();
  made.side.facts.usable = true;
  return made;
}

TEST(SideParts, ASideWithoutBytesHasNone) {
  EXPECT_TRUE(parts_of(every_second(nullptr, 0).side).empty());
  Side side;
  side.count = 7;
  EXPECT_TRUE(parts_of(side).empty());
}

TEST(SideParts, WhatIsInARowIsOnePart) {
  Side side;
  side.count = 5;
  side.facts.bytes = 4;
  side.facts.contiguous = true;
  const SideParts parts = parts_of(side);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].offset, 0);
  EXPECT_EQ(parts[0].bytes, 20U);
  EXPECT_EQ(parts[0].layout, nullptr);
}

TEST(SideParts, ACopyLeavesTheGaps) {
  std::array<int, 12> from{}, to{};
  for (std::size_t at = 0; at < from.size(); ++at) from[at] = static_cast<int>(at) + 1, to[at] = -1;
  const Typed typed = every_second(from.data(), 2);
  SideParts parts = parts_of(typed.side);
  keep_layouts(parts);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_NE(parts[0].layout, typed.layout.get());  // The type may go.
  EXPECT_TRUE(copy_part(reinterpret_cast<std::byte*>(to.data()), reinterpret_cast<std::byte*>(from.data()), parts[0]).ok());
  for (std::size_t at = 0; at < to.size(); ++at) EXPECT_EQ(to[at], at % 2 == 0 ? static_cast<int>(at) + 1 : -1) << at;
}

TEST(SideParts, HostMemoryIsNoDevices) {
  std::array<int, 12> memory{};
  const Typed typed = every_second(memory.data(), 2);
  EXPECT_FALSE(in_device_memory(memory.data(), parts_of(typed.side)));
  EXPECT_FALSE(on_one_device(typed.side));
}

}  // namespace
}  // namespace crossrail::mpi
