// These tests play the repetitions of contenders that are calls of known length on a made-up clock, among disturbances.

#include "bench/pace.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace {

using bench::Contest;
using bench::Effort;
using bench::Pace;

// The contenders' calls take so long, with a call that is not timed and a barrier before every batch.
class Play {
 public:
  explicit Play(std::vector<double> seconds) : counts(seconds.size()), seconds_(std::move(seconds)) {}

  Contest contest() {
    return {counts.size(), [this](std::size_t one, int calls) { return probe(one, calls); }, [this](std::size_t one, int calls) { repeat(one, calls); },
            [this] { return now; }};
  }
  int play(const Effort& effort) {
    paces = bench::find_paces(contest(), effort);
    probed = now;
    return bench::take_turns(contest(), effort, paces);
  }

  // The batch of this number takes so many times as long. Batches are counted from 0 on.
  int disturbed = -1;
  double times_as_long = 300;

  std::vector<int> counts;  // They are the repetitions of each contender.
  std::vector<std::size_t> order;
  std::vector<Pace> paces;
  double now = 1000, probed = 0;

 private:
  double pass(std::size_t one, int calls) {
    double took = seconds_[one] * (calls + 1) + 2e-6;
    if (batch_++ == disturbed) took *= times_as_long;
    now += took;
    return took;
  }
  double probe(std::size_t one, int calls) { return pass(one, calls) / (calls + 1); }
  void repeat(std::size_t one, int calls) {
    pass(one, calls);
    ++counts[one];
    order.push_back(one);
  }
  std::vector<double> seconds_;
  int batch_ = 0;
};

TEST(Pace, IsThatOfTheCalls) {
  Play play({1e-6, 20e-6, 1e-3});
  EXPECT_EQ(play.play({0.9}), play.counts[0]);
  EXPECT_NEAR(play.paces[0].calls, 150, 50);
  EXPECT_NEAR(play.paces[1].calls, 10, 1);
  EXPECT_EQ(play.paces[2].calls, 1);
  EXPECT_NEAR(play.paces[2].seconds, 1e-3, 1e-5);
}

TEST(Pace, OneDisturbedProbeChangesNothing) {
  constexpr int kProbes = 14;
  Play quiet({5e-6, 5e-6});
  quiet.play({0.2});
  EXPECT_GT(quiet.counts[0], 300);
  for (int probe = 0; probe < kProbes; ++probe) {
    Play play({5e-6, 5e-6});
    play.disturbed = probe;
    play.play({0.2});
    EXPECT_EQ(play.counts, quiet.counts) << probe;
    EXPECT_EQ(play.paces[0].calls, quiet.paces[0].calls) << probe;
    EXPECT_EQ(play.paces[1].calls, quiet.paces[1].calls) << probe;
  }
}

// The calls are so long that there are two probes only.
TEST(Pace, OneDisturbedProbeOfLongCallsChangesNothing) {
  for (int probe = 0; probe < 4; ++probe) {
    Play play({0.1, 0.1});
    play.disturbed = probe;
    play.times_as_long = 20;
    EXPECT_EQ(play.play({1.5}), 3) << probe;
    EXPECT_EQ(play.counts, (std::vector<int>{3, 3})) << probe;
    EXPECT_NEAR(play.paces[0].seconds, 0.1, 0.01) << probe;
    EXPECT_NEAR(play.paces[1].seconds, 0.1, 0.01) << probe;
  }
}

TEST(Turns, OneDisturbedRepetitionChangesNothing) {
  Play quiet({5e-6, 5e-6, 40e-6}), play({5e-6, 5e-6, 40e-6});
  quiet.play({0.1});
  play.disturbed = 23;
  play.play({0.1});
  EXPECT_EQ(play.counts, quiet.counts);
}

TEST(Turns, AreEqualAndBoundedHoweverSlowOneContenderIs) {
  for (const double slow : {5e-6, 500e-6, 50e-3, 0.5, 5.0}) {
    Play play({5e-6, slow, 5e-6});
    const int done = play.play({0.9});
    EXPECT_EQ(play.counts, std::vector<int>(3, done)) << slow;
    EXPECT_GE(done, 3) << slow;
    const double probes = 0.25 * 0.9 + 2 * 2 * slow, fewest = 3 * 2 * slow;
    EXPECT_LT(play.now - 1000, probes + std::max(0.9, fewest) + 0.01) << slow;
  }
}

// The median says little of the sum here, because every third repetition is disturbed.
TEST(Turns, EndWhereTheSumIsTooLong) {
  double now = 0;
  int done = 0;
  const auto repeat = [&](std::size_t, int) { now += ++done % 3 == 0 ? 0.05 : 1e-4; };
  const Contest contest{1, [&](std::size_t, int) { return 1e-4; }, repeat, [&] { return now; }};
  const Effort effort{0.3};
  EXPECT_EQ(bench::take_turns(contest, effort, {{1, 1e-4}}), done);
  EXPECT_GT(now, 0.55);
  EXPECT_LT(now, 0.7);
}

// On a busy machine nearly all repetitions may be disturbed. One that is not says that the calls are short.
TEST(Turns, AreEnoughForAnIntervalWhereCallsAreShort) {
  for (const double shortest : {0.01, 0.2}) {
    double now = 0;
    int done = 0;
    const auto repeat = [&](std::size_t, int) { now += ++done == 2 ? shortest : 1.0; };
    const Contest contest{1, [](std::size_t, int) { return 1e-4; }, repeat, [&] { return now; }};
    EXPECT_EQ(bench::take_turns(contest, {0.3}, {{1, 1e-4}}), shortest < 0.05 ? 6 : 3);
  }
}

TEST(Turns, AreAsManyAsAskedFor) {
  Play play({5e-6, 1.0});
  Effort effort{0.1, 12};
  EXPECT_EQ(play.play(effort), 12);
  EXPECT_EQ(play.counts, (std::vector<int>{12, 12}));
}

TEST(Turns, HaveOrdersInWhichEachIsBeforeEachOther) {
  Play play({1e-4, 1e-4, 1e-4, 1e-4});
  play.play({0.1, 40});
  int before[4][4] = {};
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t round = 0; round < 40; ++round) {
    const std::vector<std::size_t> order(play.order.begin() + 4 * round, play.order.begin() + 4 * round + 4);
    EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 4u);
    orders.insert(order);
    for (std::size_t one = 0; one < 4; ++one) {
      for (std::size_t other = one + 1; other < 4; ++other) ++before[order[one]][order[other]];
    }
  }
  EXPECT_GT(orders.size(), 10u);
  for (int one = 0; one < 4; ++one) {
    for (int other = 0; other < 4; ++other) EXPECT_EQ(before[one][other], one == other ? 0 : 20);
  }
}

}  // namespace
