// These tests compare datatypes taken apart with the type maps that the standard gives them.
#include "mpi/buffers/flatten.h"

#include <gtest/gtest.h>

#include "mpi/buffers/type_contents.h"
#include "tests/mpi/units/fake_mpi.h"

namespace crossrail::mpi {
namespace {

class Flatten : public testing::Test {
 protected:
  void SetUp() override { fake::forget_all(); }
  void TearDown() override { EXPECT_EQ(fake::contents_not_freed(), 0); }
};

// Returns every byte of one element, in the order in which MPI sends them.
std::vector<std::ptrdiff_t> bytes_of(const Layout& layout) {
  std::vector<std::ptrdiff_t> all;
  for (const Pieces& like : layout.pieces) {
    for (std::uint64_t piece = 0; piece < like.count; ++piece) {
      for (std::uint64_t byte = 0; byte < like.bytes; ++byte) {
        all.push_back(like.offset + static_cast<std::ptrdiff_t>(piece) * like.stride + static_cast<std::ptrdiff_t>(byte));
      }
    }
  }
  return all;
}

std::vector<std::ptrdiff_t> bytes_of(const fake::Type& type) {
  std::vector<std::ptrdiff_t> all;
  for (const fake::Run& run : type.map) {
    for (std::size_t byte = 0; byte < run.bytes; ++byte) all.push_back(run.offset + static_cast<std::ptrdiff_t>(byte));
  }
  return all;
}

void expect_right(MPI_Datatype type) {
  const Flattened found = flatten(type, Effort::any);
  ASSERT_NE(found.layout, nullptr);
  EXPECT_FALSE(found.given_up);
  EXPECT_EQ(bytes_of(*found.layout), bytes_of(fake::type(type)));
  EXPECT_EQ(found.layout->extent, fake::type(type).extent);
  EXPECT_EQ(found.layout->element_bytes, bytes_of(fake::type(type)).size());
}

TEST_F(Flatten, TakesApartWhatEveryConstructorMakes) {
  expect_right(fake::contiguous(5, MPI_INT));
  expect_right(fake::vector(3, 2, 4, MPI_SHORT));
  expect_right(fake::vector(3, 2, -4, MPI_SHORT));
  expect_right(fake::hvector(4, 1, 13, MPI_INT));
  expect_right(fake::indexed({2, 0, 1}, {5, 1, 0}, MPI_DOUBLE));
  expect_right(fake::hindexed({1, 3}, {-16, 24}, MPI_INT));
  expect_right(fake::indexed_block(2, {0, 7, 3}, MPI_INT));
  expect_right(fake::structure({1, 2, 1}, {0, 8, 40}, {MPI_CHAR, MPI_DOUBLE, MPI_INT}));
  expect_right(fake::resized(fake::vector(2, 1, 2, MPI_INT), -4, 64));
}

TEST_F(Flatten, TakesApartSubarraysOfBothOrders) {
  for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
    expect_right(fake::subarray({7}, {3}, {2}, order, MPI_INT));
    expect_right(fake::subarray({4, 5}, {2, 3}, {1, 2}, order, MPI_SHORT));
    expect_right(fake::subarray({3, 4, 5, 2}, {2, 3, 2, 1}, {1, 0, 3, 1}, order, MPI_INT));
  }
}

TEST_F(Flatten, TakesApartTypesOfTypes) {
  const MPI_Datatype pair = fake::structure({1, 1}, {0, 12}, {MPI_INT, MPI_SHORT});
  expect_right(fake::vector(3, 2, 3, pair));
  expect_right(fake::contiguous(4, fake::resized(pair, 0, 32)));
  expect_right(fake::hindexed({2, 1}, {100, 0}, fake::vector(2, 1, 3, pair)));
  expect_right(fake::structure({2, 2}, {0, 80}, {pair, pair}));
  expect_right(fake::subarray({3, 3}, {2, 2}, {1, 0}, MPI_ORDER_C, pair));
}

TEST_F(Flatten, KnowsPredefinedTypesWithGaps) {
  expect_right(MPI_SHORT_INT);
  expect_right(MPI_DOUBLE);
  const Layout* const layout = layout_of_predefined(MPI_SHORT_INT);
  ASSERT_NE(layout, nullptr);
  EXPECT_EQ(layout_of_predefined(MPI_SHORT_INT), layout);  // It stays.
}

TEST_F(Flatten, JoinsWhatLiesTogether) {
  const Flattened row = flatten(fake::contiguous(1000, MPI_INT), Effort::any);
  ASSERT_NE(row.layout, nullptr);
  ASSERT_EQ(row.layout->pieces.size(), 1U);
  const Flattened lines = flatten(fake::vector(1000, 2, 5, MPI_INT), Effort::any);
  ASSERT_NE(lines.layout, nullptr);
  EXPECT_EQ(lines.layout->pieces.size(), 1U);  // Equal pieces, equally far apart, are one line.
}

TEST_F(Flatten, LeavesToMpiWhatItDoesNotKnow) {
  EXPECT_EQ(flatten(fake::darray(MPI_INT), Effort::any).layout, nullptr);
  EXPECT_EQ(flatten(fake::contiguous(0, MPI_INT), Effort::any).layout, nullptr);
  const MPI_Datatype refused = fake::vector(2, 1, 2, MPI_INT);
  fake::refuse_contents(refused);
  const Flattened found = flatten(refused, Effort::any);
  EXPECT_EQ(found.layout, nullptr);
  EXPECT_FALSE(found.given_up);
}

TEST_F(Flatten, BelievesMpiWhereTheDataLie) {
  const MPI_Datatype moved = fake::vector(3, 1, 2, MPI_INT);
  for (fake::Run& run : fake::type(moved).map) run.offset += 1;  // Open MPI 4 does so with strides of -1 byte.
  EXPECT_EQ(flatten(moved, Effort::any).layout, nullptr);
}

TEST_F(Flatten, GivesUpWhereItCostsMuch) {
  std::vector<int> lengths(2000, 1), places(2000);
  for (std::size_t block = 0; block < places.size(); ++block) places[block] = static_cast<int>(block * block % 99991);
  const MPI_Datatype dear = fake::indexed(lengths, places, MPI_INT);
  const Flattened cheap = flatten(dear, Effort::little);
  EXPECT_EQ(cheap.layout, nullptr);
  EXPECT_TRUE(cheap.given_up);
  expect_right(dear);
  expect_right(fake::vector(2000, 1, 2, MPI_INT));
  EXPECT_FALSE(flatten(fake::vector(2000, 1, 2, MPI_INT), Effort::little).given_up);  // It is one line, whatever its length.
}

TEST_F(Flatten, LeavesTypesOfTooManyPieces) {
  std::vector<int> lengths(1500, 1), places(1500);
  for (std::size_t block = 0; block < places.size(); ++block) places[block] = static_cast<int>(block * (block + 1));
  const MPI_Datatype many = fake::indexed(lengths, places, MPI_INT);
  expect_right(many);
  std::vector<MPI_Aint> far(600);
  for (std::size_t block = 0; block < far.size(); ++block) far[block] = static_cast<MPI_Aint>(block * block) * 20'000'000;
  EXPECT_EQ(flatten(fake::hindexed(std::vector<int>(far.size(), 1), far, many), Effort::any).layout, nullptr);
}

TEST_F(Flatten, ContentsAreFreedWhateverHappens) {
  const MPI_Datatype inner = fake::vector(2, 1, 2, MPI_INT);
  Work work{~std::uint64_t{0}};
  {
    const TypeContents contents(fake::structure({1, 1, 1}, {0, 32, 64}, {inner, inner, MPI_INT}), work);
    EXPECT_EQ(contents.combiner, MPI_COMBINER_STRUCT);
    EXPECT_EQ(contents.addresses, (std::vector<std::int64_t>{0, 32, 64, 0}));  // There is room for one more.
    EXPECT_GT(fake::contents_not_freed(), 0);
  }
  EXPECT_EQ(fake::contents_not_freed(), 0);
  Work little{3};
  const TypeContents refused(fake::vector(2, 1, 2, inner), little);
  EXPECT_EQ(refused.combiner, MPI_UNDEFINED);
  EXPECT_TRUE(little.exceeded);
}

}  // namespace
}  // namespace crossrail::mpi
