// Every row of allreduce runs as calls that are pending: several of them on different slots, alltoalls between them, blocking calls too; and
// suspended before every wait in a random order.

#include <random>

#include "tests/collectives/allreduce_case.h"
#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kCalls = 16;
#else
constexpr std::uint64_t kCalls = 60;
#endif
constexpr std::size_t kCounts[] = {0, 1, 14, 200, 1000, 40'001};
const Nodes kWorlds[] = {{0, 0}, {0, 0, 0, 0, 0}, {0, 0, 1, 1}, {0, 1, 2, 0, 1, 2}, {0, 1, 1, 2, 1, 0, 3}};

class EveryRow : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(allreduce, EveryRow,
                         testing::ValuesIn(catalogue(Collective::allreduce).begin(), catalogue(Collective::allreduce).end()),
                         [](const auto& row) { return std::string(row.param.name); });

struct Started {
  OutstandingCall call;
  const Algorithm* row;  // Null is any row.
};

void finish(PendingRank& mine, std::vector<Started>& started) {
  for (const Started& one : started) {
    advance_until(mine.calls, [&] { return one.call->has_ended(); });
    const PendingCall& call = one.call->call();
    ASSERT_EQ(call.code, Code::ok) << call.what;
    EXPECT_EQ(one.call->wrong(), "") << mine.communicator.settings.allreduce << " on " << mine.communicator.topology.text();
    const bool wanted = one.row != nullptr && one.row->fits(mine.communicator.topology, call.shape);
    EXPECT_TRUE(!wanted || std::string(one.row->name) == call.carried_by.algorithm) << call.carried_by.algorithm;
  }
  started.clear();
}

// Every rank makes the same sequence of calls. How far each comes before the next is each rank's own.
void mixed_calls(PendingRank& mine, const Algorithm* row, unsigned seed) {
  Communicator& communicator = mine.communicator;
  std::mt19937 common(seed), own(seed * 31 + static_cast<unsigned>(communicator.topology.rank));
  std::vector<Started> started;
  std::uint64_t pending = 0;
  for (std::uint64_t number = 0; number < kCalls && !testing::Test::HasFailure(); ++number) {
    const bool blocking = common() % 4 == 0, reduces = common() % 4 != 0;
    const Shape shape = reduces ? allreduce_shape(kCounts[common() % std::size(kCounts)]) : alltoall_shape(common() % 3000);
    const Side side = common() % 3 == 0 ? Side::in_place : Side::apart;
    if (blocking || !can_be_pending(communicator, shape)) {
      if (reduces) checked_allreduce(communicator, shape, number, side);
      else checked_call(communicator, shape, number);
      continue;
    }
    Slot& slot = *communicator.next_pending_slot();
    started.push_back({reduces ? std::make_unique<OutstandingCase<AllreduceCase>>(slot, shape, shape, number, side) : pending_alltoall(slot, shape, number),
                       reduces ? row : nullptr});
    mine.calls.start(started.back().call->call());
    ++pending;
    for (unsigned again = own() % 6; again > 0; --again) (void)mine.calls.advance();
    if (own() % 8 == 0 || started.size() > 12) finish(mine, started);
  }
  finish(mine, started);
  EXPECT_GT(pending, kCalls / 2);
}

virtual_world::WorldOptions forced(const Algorithm& row) {
  virtual_world::WorldOptions options;
  options.settings.allreduce = row.name;
  options.settings.alltoall = "pairwise";
  return options;
}

TEST_P(EveryRow, is_right_with_others_outstanding) {
  for (const Nodes& nodes : kWorlds) {
    SCOPED_TRACE(text_of(nodes));
    pending_world(nodes, forced(GetParam()), [](PendingRank& mine) { mixed_calls(mine, &GetParam(), 1); });
  }
}

TEST_P(EveryRow, is_right_suspended_before_every_wait) {
  for (const Nodes& nodes : kWorlds) {
    SCOPED_TRACE(text_of(nodes));
    virtual_world::WorldOptions options = forced(GetParam());
    options.suspend_seed = 3;
    options.links.eager_bytes = 0;
    pending_world(nodes, options, [](PendingRank& mine) { mixed_calls(mine, &GetParam(), 100); });
  }
}

// There is one slot for all pending calls, little scratch, and few plans. A plan that a call had may have gone since.
TEST_P(EveryRow, is_right_where_all_is_scarce) {
  for (const Nodes& nodes : {Nodes{0, 0, 0}, Nodes{0, 1, 0, 1, 1}}) {
    virtual_world::WorldOptions options = forced(GetParam());
    options.suspend_seed = 77;
    options.settings.slots = 1;
    options.settings.plan_count = 2;
    options.settings.scratch_bytes = 400'000;
    pending_world(nodes, options, [](PendingRank& mine) { mixed_calls(mine, nullptr, 5); });
  }
}

}  // namespace
}  // namespace crossrail::tests
