// These tests check when memory that peers have not mapped is worth mapping.
#include "device_sharing/unmapped_allocations.h"

#include <gtest/gtest.h>

namespace crossrail {
namespace {

crossrail_memory allocation(std::uint64_t number) {
  crossrail_memory memory{};
  memory.shareable = 1;
  memory.allocation = number;
  return memory;
}

TEST(UnmappedAllocations, AreMappedAfterSoManyStagedUses) {
  UnmappedAllocations unmapped(2);
  for (int use = 1; use <= 5; ++use) EXPECT_EQ(unmapped.worth_mapping(allocation(7)), use > 2) << use;
  EXPECT_FALSE(unmapped.worth_mapping(allocation(8)));  // Another one has its own uses.
  UnmappedAllocations at_once(0);
  EXPECT_TRUE(at_once.worth_mapping(allocation(7)));
}

TEST(UnmappedAllocations, AreNeverMappedWhereTheyCannotBe) {
  UnmappedAllocations unmapped(0);
  crossrail_memory memory = allocation(7);
  memory.shareable = 0;
  for (int use = 0; use < 5; ++use) EXPECT_FALSE(unmapped.worth_mapping(memory));
}

TEST(UnmappedAllocations, WhatWasRefusedIsTriedAgainEverLater) {
  UnmappedAllocations unmapped(0);
  EXPECT_TRUE(unmapped.may_be_mapped(allocation(7)));
  int before = 0;
  for (int times = 0; times < 3; ++times) {
    unmapped.refused(allocation(7));
    int waited = 0;
    while (!unmapped.may_be_mapped(allocation(7))) ASSERT_LT(++waited, 1000);
    EXPECT_GT(waited, before);
    before = waited;
  }
}

}  // namespace
}  // namespace crossrail
