#include "comm/shape.h"

#include <gtest/gtest.h>

#include <set>

namespace crossrail::tests {
namespace {

TEST(Shape, equal_shapes_have_equal_hashes_and_different_ones_differ) {
  std::set<std::uint64_t> hashes;
  std::set<std::uint32_t> low_halves;  // Flags carry these.
  std::size_t count = 0;
  for (const bool in_place : {false, true}) {
    for (std::uint64_t bytes = 0; bytes < 20'000; ++bytes, ++count) {
      const Shape shape{Collective::alltoall, Memory::host, in_place, bytes};
      EXPECT_EQ(shape.hash(), Shape(shape).hash());
      hashes.insert(shape.hash());
      low_halves.insert(static_cast<std::uint32_t>(shape.hash()));
    }
  }
  EXPECT_EQ(hashes.size(), count);
  EXPECT_GE(low_halves.size(), count - 2);
}

TEST(Shape, every_member_counts) {
  const Shape shape{Collective::alltoall, Memory::host, false, 64};
  EXPECT_EQ(shape, Shape(shape));
  EXPECT_NE(shape, (Shape{Collective::alltoall, Memory::host, true, 64}));
  EXPECT_NE(shape, (Shape{Collective::alltoall, Memory::host, false, 65}));
}

}  // namespace
}  // namespace crossrail::tests
