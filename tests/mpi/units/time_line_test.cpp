// These tests check seconds in parts of a run.
#include "mpi/observe/time_line.h"

#include <gtest/gtest.h>

#include <numeric>

namespace crossrail::mpi {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

double total(const TimeLine::Seconds& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

TEST(TimeLine, puts_a_call_where_it_was) {
  TimeLine line(5 * kSecond);
  line.add(true, 5 * kSecond + 25'000'000, 10'000'000);  // It is from 15 to 25 ms.
  line.add(false, 5 * kSecond + 40'000'000, 10'000'000);
  const TimeLine::Read read = line.read();
  EXPECT_DOUBLE_EQ(read.part_seconds, 0.01);
  EXPECT_NEAR(read.carried[1], 0.005, 1e-12);
  EXPECT_NEAR(read.carried[2], 0.005, 1e-12);
  EXPECT_NEAR(read.native[3], 0.01, 1e-12);
}

TEST(TimeLine, keeps_every_second_of_a_long_run) {
  TimeLine line(0);
  for (int call = 1; call <= 1000; ++call) line.add(call % 2 == 0, call * kSecond, kSecond / 2);
  const TimeLine::Read read = line.read();
  EXPECT_GE(read.part_seconds * static_cast<double>(TimeLine::kParts), 1000.0);
  EXPECT_LT(read.part_seconds * static_cast<double>(TimeLine::kParts), 2001.0);
  EXPECT_NEAR(total(read.carried), 250.0, 1e-6);
  EXPECT_NEAR(total(read.native), 250.0, 1e-6);
}

TEST(TimeLine, a_call_is_not_before_the_run) {
  TimeLine line(kSecond);
  line.add(true, kSecond + 20'000'000, 2 * kSecond);
  line.add(true, kSecond / 2, kSecond / 4);
  EXPECT_NEAR(total(line.read().carried), 0.02, 1e-12);
}

}  // namespace
}  // namespace crossrail::mpi
