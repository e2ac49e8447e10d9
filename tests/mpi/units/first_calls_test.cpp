#include "mpi/communicator/first_calls.h"

#include <gtest/gtest.h>

#include <vector>

namespace crossrail::mpi {
namespace {

constexpr std::int64_t kOpening = 200'000;

// Returns the numbers, from 1, of the calls in which ranks ask each other.
template <class Begin>
std::vector<int> asking(int calls, const Begin& begin) {
  std::vector<int> found;
  for (int call = 1; call <= calls; ++call) {
    if (begin()) found.push_back(call);
  }
  return found;
}

TEST(FirstCalls, AskEverMoreSeldom) {
  FirstCalls alltoalls, reductions, pending;
  EXPECT_EQ(asking(40, [&] { return alltoalls.begin_blocking(true); }), (std::vector{1, 3, 9, 33}));
  EXPECT_EQ(asking(40, [&] { return reductions.begin_blocking(false); }), (std::vector{9, 33}));
  EXPECT_EQ(asking(40, [&] { return pending.begin_nonblocking(0); }), (std::vector{2, 5, 17}));
}

TEST(FirstCalls, CountAllBlockingOnesTogether) {
  FirstCalls calls;
  for (int i = 0; i < 8; ++i) (void)calls.begin_blocking(i % 2 == 0);
  EXPECT_TRUE(calls.begin_blocking(false));
}

TEST(FirstCalls, AskInTheNextBlockingOneAfterANonblockingOne) {
  FirstCalls ours, others;
  for (FirstCalls* calls : {&ours, &others}) {
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(calls->begin_blocking(false));
    EXPECT_FALSE(calls->begin_other());
    (void)calls->begin_nonblocking(0);
  }
  EXPECT_TRUE(ours.begin_blocking(false));
  EXPECT_TRUE(others.begin_other());
}

TEST(FirstCalls, AreWorthOpeningOnceTheyHaveTakenAsLong) {
  FirstCalls calls;
  EXPECT_FALSE(calls.worth_opening(0, kOpening));
  EXPECT_TRUE(calls.worth_opening(0, 0));
  calls.took(kOpening - 1);
  EXPECT_FALSE(calls.worth_opening(1'000'000'000, kOpening));
  calls.took(1);
  EXPECT_TRUE(calls.worth_opening(0, kOpening));
}

TEST(FirstCalls, AreWorthOpeningForALongOne) {
  FirstCalls calls;
  calls.was_long();
  EXPECT_TRUE(calls.worth_opening(0, kOpening));
}

TEST(FirstCalls, NonblockingOnesHaveToBeManyAndToLast) {
  FirstCalls few, quick;
  for (int i = 0; i < 8; ++i) (void)few.begin_nonblocking(0);
  EXPECT_FALSE(few.worth_opening(100 * kOpening, kOpening));
  for (int i = 0; i < 9; ++i) (void)quick.begin_nonblocking(0);
  EXPECT_FALSE(quick.worth_opening(5 * kOpening - 1, kOpening));
  EXPECT_TRUE(quick.worth_opening(5 * kOpening, kOpening));
}

}  // namespace
}  // namespace crossrail::mpi
