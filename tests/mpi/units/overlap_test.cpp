// These tests check the times of nonblocking calls, with clocks of our own.
#include "mpi/observe/overlap.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace crossrail::mpi {
namespace {

TEST(Overlap, OneCallAfterTheOther) {
  Overlap overlap;
  for (const std::int64_t began : {100, 1000}) {
    overlap.begins(began);
    overlap.started(5);
    overlap.waited(20);
    overlap.ends(began + 60);
  }
  const Overlap::Times times = overlap.times();
  EXPECT_EQ(times.calls, 2u);
  EXPECT_EQ(times.starting_ns, 10);
  EXPECT_EQ(times.waiting_ns, 40);
  EXPECT_EQ(times.under_way_ns, 120);
}

TEST(Overlap, CallsAtTheSameTimeCountOnce) {
  Overlap overlap;
  overlap.begins(100);
  overlap.begins(150);
  overlap.ends(180);
  EXPECT_EQ(overlap.times().under_way_ns, 0) << "one is still under way";
  overlap.begins(190);
  overlap.ends(200);
  overlap.ends(300);
  EXPECT_EQ(overlap.times().under_way_ns, 200);
  EXPECT_EQ(overlap.times().calls, 3u);
}

TEST(Overlap, AnEndBeforeItsBeginningIsNoTime) {
  Overlap overlap;  // Another thread has read the clock earlier.
  overlap.begins(100);
  overlap.ends(90);
  EXPECT_EQ(overlap.times().under_way_ns, 0);
}

TEST(Overlap, ThreadsLoseNothing) {
  Overlap overlap;
  std::vector<std::thread> threads;
  for (int one = 0; one < 4; ++one) {
    threads.emplace_back([&overlap] {
      for (int call = 0; call < 1000; ++call) {
        overlap.begins(0);
        overlap.started(1);
        overlap.waited(2);
        overlap.ends(0);
      }
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(overlap.times().calls, 4000u);
  EXPECT_EQ(overlap.times().starting_ns, 4000);
  EXPECT_EQ(overlap.times().waiting_ns, 8000);
}

}  // namespace
}  // namespace crossrail::mpi
