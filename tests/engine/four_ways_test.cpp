// Every algorithm runs from its one text: as calls that are pending, several of them on different slots with different shapes, with blocking calls in
// between; and suspended before every wait in a random order. The tests in tests/collectives check that it is right as a blocking call.

#include <random>

#include "collectives/algorithm.h"
#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kCalls = 16;
constexpr unsigned kSeeds = 1;
#else
constexpr std::uint64_t kCalls = 40;
constexpr unsigned kSeeds = 2;
#endif
constexpr std::size_t kSizes[] = {0, 1, 8, 57, 600, 5000, 70'001};
const Nodes kWorlds[] = {{0, 0}, {0, 0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 2, 1, 0, 3}};

struct Pair {
  Algorithm alltoall, alltoallv;
};

// Returns every row of one catalogue with some row of the other.
std::vector<Pair> pairs() {
  const auto equal = catalogue(Collective::alltoall), vectors = catalogue(Collective::alltoallv);
  std::vector<Pair> all;
  for (std::size_t number = 0; number < std::max(equal.size(), vectors.size()); ++number) {
    all.push_back({equal[number % equal.size()], vectors[number % vectors.size()]});
  }
  return all;
}

class EveryPair : public testing::TestWithParam<Pair> {};

INSTANTIATE_TEST_SUITE_P(rows, EveryPair, testing::ValuesIn(pairs()), [](const auto& row) {
  return std::string(row.param.alltoall.name) + "_and_" + row.param.alltoallv.name;
});

virtual_world::WorldOptions forced(const Pair& pair) {
  virtual_world::WorldOptions options;
  options.settings.alltoall = pair.alltoall.name;
  options.settings.alltoallv = pair.alltoallv.name;
  return options;
}

struct Draw {
  bool blocking, vector, in_place;
  std::size_t bytes;
  Counts counts;
};
Draw draw(std::mt19937& random) {
  return {random() % 4 == 0, random() % 3 == 0, random() % 3 == 0, kSizes[random() % std::size(kSizes)], kCounts[random() % std::size(kCounts)]};
}

void expect_row(const Communicator& communicator, const PendingCall& call, const Algorithm& row) {
  const std::string where = std::string(row.name) + " on " + communicator.topology.text() + ", blocks of " +
                            std::to_string(call.shape.block_bytes) + (call.shape.in_place ? " in place" : "");
  ASSERT_EQ(call.code, Code::ok) << call.what << ": " << where;
  const bool fits = row.fits(communicator.topology, call.shape);
  EXPECT_TRUE(!fits || std::string(row.name) == call.carried_by.algorithm) << where << " by " << call.carried_by.algorithm;
}

struct Started {
  OutstandingCall call;
  const Algorithm* row;
};

void finish(PendingRank& mine, std::vector<Started>& started) {
  for (const Started& one : started) {
    advance_until(mine.calls, [&] { return one.call->has_ended(); });
    expect_row(mine.communicator, one.call->call(), *one.row);
    EXPECT_EQ(one.call->wrong(), "") << one.row->name << " on " << mine.communicator.topology.text();
  }
  started.clear();
}

// Every rank makes the same sequence of calls. How far each comes before the next is each rank's own.
void mixed_calls(PendingRank& mine, const Pair& pair, unsigned seed) {
  Communicator& communicator = mine.communicator;
  std::mt19937 common(seed), own(seed * 31 + static_cast<unsigned>(communicator.topology.rank));
  std::vector<Started> started;
  std::uint64_t pending = 0;
  for (std::uint64_t number = 0; number < kCalls && !testing::Test::HasFailure(); ++number) {
    const Draw what = draw(common);
    const Shape shape = what.vector ? kVectorShape : alltoall_shape(what.bytes, what.in_place);
    if (what.blocking || !can_be_pending(communicator, shape)) {
      if (what.vector) checked_vector_call(communicator, what.counts, number);
      else checked_call(communicator, shape, number);
      continue;
    }
    Slot& slot = *communicator.next_pending_slot();
    started.push_back({what.vector ? pending_alltoallv(slot, what.counts, number) : pending_alltoall(slot, shape, number),
                       what.vector ? &pair.alltoallv : &pair.alltoall});
    mine.calls.start(started.back().call->call());
    ++pending;
    for (unsigned again = own() % 6; again > 0; --again) (void)mine.calls.advance();
    if (own() % 8 == 0 || started.size() > 12) finish(mine, started);
  }
  finish(mine, started);
  EXPECT_GT(pending, kCalls / 2);
}

TEST_P(EveryPair, is_right_with_others_outstanding) {
  for (const Nodes& nodes : kWorlds) {
    SCOPED_TRACE(text_of(nodes));
    pending_world(nodes, forced(GetParam()), [](PendingRank& mine) { mixed_calls(mine, GetParam(), 1); });
  }
}

TEST_P(EveryPair, is_right_suspended_before_every_wait) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    for (const Nodes& nodes : kWorlds) {
      SCOPED_TRACE(text_of(nodes) + ", seed " + std::to_string(seed));
      virtual_world::WorldOptions options = forced(GetParam());
      options.suspend_seed = seed;
      options.links.eager_bytes = seed % 2 == 0 ? 512 : 0;
      pending_world(nodes, options, [seed](PendingRank& mine) { mixed_calls(mine, GetParam(), 100 + seed); });
    }
  }
}

// There is one slot for all pending calls, little scratch, few plans, and no reading of each other's memory.
TEST_P(EveryPair, is_right_where_all_is_scarce) {
  for (const Nodes& nodes : {Nodes{0, 0, 0}, Nodes{0, 1, 0, 1, 1}}) {
    virtual_world::WorldOptions options = forced(GetParam());
    options.suspend_seed = 77;
    options.settings.slots = 1;
    options.settings.plan_count = 2;
    options.settings.scratch_bytes = 1'000'000;
    options.single_copy = false;
    pending_world(nodes, options, [](PendingRank& mine) {
      std::mt19937 common(5);
      for (std::uint64_t number = 0; number < kCalls; ++number) {
        const Draw what = draw(common);
        const Shape shape = what.vector ? kVectorShape : alltoall_shape(what.bytes % 6000, what.in_place);
        if (!can_be_pending(mine.communicator, shape)) continue;
        Slot& slot = *mine.communicator.next_pending_slot();
        const OutstandingCall one = what.vector ? pending_alltoallv(slot, what.counts, number) : pending_alltoall(slot, shape, number);
        mine.calls.start(one->call());
        advance_until(mine.calls, [&] { return one->has_ended(); });
        ASSERT_EQ(one->call().code, Code::ok) << one->call().what;
        EXPECT_EQ(one->wrong(), "");
      }
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
