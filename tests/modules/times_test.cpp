// These tests check when a device did its work, by modules/gpu/times.cpp, of the pretended device in pretended_gpu/gpu.h.
#include "gpu/times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace gpu {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class TimesTest : public testing::Test {
 protected:
  void SetUp() override {
    device = {};
    the_driver = {};
    device.began_ns = host_now() - 1'234'567'891;
  }
  void TearDown() override {
    times.close();
    EXPECT_EQ(device.live_events, 0);
  }
  // Adds work of so long. Returns its number.
  std::uint64_t work(std::int64_t long_ns) {
    std::uint64_t piece = 0;
    EXPECT_EQ(times.begin(nullptr, &piece), nullptr);
    began_ns = std::max(host_now(), device.free_ns);
    device.free_ns = began_ns + long_ns;
    EXPECT_EQ(times.end(nullptr), nullptr);
    return piece;
  }
  static void pause(std::int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }
  Times times;
  std::int64_t began_ns = 0;
};

std::int64_t median(std::vector<std::int64_t> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

// The median counts, with room: this machine may be busy, and sanitizers are slow. With the other clock's pace taken for ours it would be 100 us.
TEST_F(TimesTest, are_those_of_the_host_though_the_device_has_a_clock_of_its_own) {
  constexpr std::int64_t kMostWrong = 30'000;
  device.pace = 1 + 800e-6;  // After a second it is wrong by 800 us.
  ASSERT_EQ(times.open(nullptr), nullptr);
  pause(300 * kMs);
  std::vector<std::int64_t> wrong, wrong_length;
  for (int turn = 0; turn < 40; ++turn) {
    pause(20 * kMs);
    const std::uint64_t piece = work(kMs);
    pause(3 * kMs);
    crossrail_times found{};
    ASSERT_EQ(times.look(piece, &found), 1);
    wrong.push_back(std::llabs(found.began_ns - began_ns));
    wrong_length.push_back(std::llabs(found.ended_ns - found.began_ns - kMs));
  }
  EXPECT_LT(median(wrong), kMostWrong);
  EXPECT_LT(median(wrong_length), kMostWrong);
}

TEST_F(TimesTest, are_not_known_before_the_work_is_over) {
  ASSERT_EQ(times.open(nullptr), nullptr);
  const std::uint64_t piece = work(50 * kMs);
  crossrail_times found{};
  EXPECT_EQ(times.look(piece, &found), 0);
  pause(60 * kMs);
  EXPECT_EQ(times.look(piece, &found), 1);
  EXPECT_EQ(times.look(piece, &found), 1);
  EXPECT_EQ(times.look(piece + 1, &found), -1);
}

TEST_F(TimesTest, of_work_that_never_ends_nothing_waits) {
  ASSERT_EQ(times.open(nullptr), nullptr);
  pause(300 * kMs);
  device.hangs = true;
  const std::int64_t before = host_now();
  std::uint64_t first = 0;
  for (int turn = 0; turn < 100; ++turn) {
    const std::uint64_t piece = work(0);
    if (turn == 0) first = piece;
    crossrail_times found{};
    EXPECT_EQ(times.look(piece, &found), 0);
  }
  crossrail_times found{};
  EXPECT_EQ(times.look(first, &found), -1);  // It has made room.
  EXPECT_LT(host_now() - before, 2000 * kMs);
}

// The clocks are compared anew meanwhile. Times go on being counted from the moment before their work.
TEST_F(TimesTest, of_a_row_of_work_are_in_order_and_none_is_lost) {
  ASSERT_EQ(times.open(nullptr), nullptr);
  pause(260 * kMs);
  std::vector<std::uint64_t> pieces;
  for (int turn = 0; turn < 20; ++turn) {
    pieces.push_back(work(turn % 3 == 0 ? 40 * kMs : 1000));
    if (turn % 4 == 3) pause(90 * kMs);
  }
  pause(200 * kMs);
  std::int64_t last = 0;
  for (const std::uint64_t piece : pieces) {
    crossrail_times found{};
    ASSERT_EQ(times.look(piece, &found), 1);
    EXPECT_GE(found.began_ns, last);
    EXPECT_GE(found.ended_ns, found.began_ns);
    last = found.ended_ns;
  }
  EXPECT_LT(std::llabs(last - device.free_ns), kMs);
}

TEST_F(TimesTest, are_not_there_where_the_driver_cannot_tell_them) {
  the_driver.elapsed.at = nullptr;
  EXPECT_NE(times.open(nullptr), nullptr);
  the_driver = {};
  device.makes_left = 20;
  EXPECT_NE(times.open(nullptr), nullptr);
  EXPECT_EQ(device.live_events, 0);
}

TEST_F(TimesTest, of_work_that_could_not_be_marked_are_never_known) {
  ASSERT_EQ(times.open(nullptr), nullptr);
  std::uint64_t piece = 0;
  ASSERT_EQ(times.begin(nullptr, &piece), nullptr);
  device.records_fail = 1;
  EXPECT_NE(times.end(nullptr), nullptr);
  device.records_fail = 0;
  crossrail_times found{};
  EXPECT_EQ(times.look(piece, &found), -1);
}

}  // namespace
}  // namespace gpu
