// These tests check MPI's operations and types as Reductions.
#include "mpi/buffers/reductions.h"

#include <gtest/gtest.h>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

Reduction found(MPI_Op op, MPI_Datatype type, std::uint64_t bytes) { return reduction_of(combining_of(op), type, bytes); }

TEST(Reductions, MpisOperationsOnItsOwnTypes) {
  EXPECT_EQ(found(MPI_SUM, MPI_INT, 4).operation, Operation::sum);
  EXPECT_EQ(found(MPI_SUM, MPI_INT, 4).element, Element::int32);
  EXPECT_EQ(found(MPI_MAX, MPI_DOUBLE, 8).element, Element::float64);
  EXPECT_EQ(found(MPI_PROD, MPI_UNSIGNED_LONG_LONG, 8).element, Element::uint64);
  EXPECT_EQ(found(MPI_BXOR, MPI_BYTE, 1).element, Element::byte);
  EXPECT_EQ(found(MPI_LAND, MPI_INT, 4).operation, Operation::logical_and);
  EXPECT_EQ(found(MPI_MINLOC, MPI_DOUBLE_INT, 12).operation, Operation::minimum_place);
}

TEST(Reductions, TheLengthIsWhatTheLibrarySays) {
  EXPECT_EQ(found(MPI_SUM, MPI_LONG, 8).element, Element::int64);
  EXPECT_EQ(found(MPI_SUM, MPI_UNSIGNED_LONG, 4).element, Element::uint32);
  EXPECT_EQ(found(MPI_SUM, MPI_LONG_LONG, 3).operation, Operation::none);
}

TEST(Reductions, WhatTheStandardDoesNotDefineIsLeft) {
  EXPECT_EQ(found(MPI_BAND, MPI_DOUBLE, 8).operation, Operation::none);
  EXPECT_EQ(found(MPI_SUM, MPI_BYTE, 1).operation, Operation::none);
  EXPECT_EQ(found(MPI_LOR, MPI_INTEGER, 4).operation, Operation::none);  // A Fortran integer is no truth value.
  EXPECT_EQ(found(MPI_MAX, MPI_DOUBLE_INT, 12).operation, Operation::none);
  EXPECT_EQ(found(MPI_MAXLOC, MPI_INT, 4).operation, Operation::none);
}

TEST(Reductions, OfAnotherTypeNothingIsKnown) {
  EXPECT_TRUE(is_type_of_reductions(MPI_INT));
  EXPECT_FALSE(is_type_of_reductions(MPI_DATATYPE_NULL));
  EXPECT_EQ(found(MPI_SUM, MPI_DATATYPE_NULL, 4).operation, Operation::none);
}

// Each thread remembers the last answer. Another question in between must not get it.
TEST(Reductions, AnswersDoNotDependOnTheQuestionBefore) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(found(MPI_SUM, MPI_INT, 4).element, Element::int32);
    EXPECT_EQ(found(MPI_MAX, MPI_INT, 4).operation, Operation::maximum);
    EXPECT_EQ(found(MPI_SUM, MPI_FLOAT, 4).element, Element::float32);
    EXPECT_EQ(found(MPI_BAND, MPI_FLOAT, 4).operation, Operation::none);
    EXPECT_EQ(found(MPI_SUM, MPI_FLOAT, 4).element, Element::float32);
  }
}

}  // namespace
}  // namespace crossrail::mpi
