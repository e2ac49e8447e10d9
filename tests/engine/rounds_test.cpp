// There are billions of rounds on one communicator. No counter, stamp or flag is taken for a later or an earlier one. Worlds begin just below the
// powers of two where narrower arithmetic turns over, or leap from one to the next.

#include <atomic>

#include "collectives/algorithm.h"
#include "collectives/sequence_counters.h"
#include "tests/collectives/allreduce_case.h"
#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

constexpr int kEdges[] = {31, 32, 33, 47};
const Nodes kWorlds[] = {{0, 0, 0, 0}, {0, 1, 1, 0, 1}};

virtual_world::WorldOptions just_below(int edge) {
  virtual_world::WorldOptions options;
  options.epochs_before = (std::uint64_t{1} << edge) - 9;
  return options;
}

class EveryEdge : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(powers, EveryEdge, testing::ValuesIn(kEdges), [](const auto& edge) { return "of_two_" + std::to_string(edge.param); });

TEST_P(EveryEdge, alltoall_is_right) {
  for (const Algorithm& row : catalogue(Collective::alltoall)) {
    for (const Nodes& nodes : kWorlds) {
      virtual_world::WorldOptions options = just_below(GetParam());
      options.settings.alltoall = row.name;
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        for (std::uint64_t call = 0; call < 24; ++call) {
          if (!checked_call(communicator, alltoall_shape(call % 3 == 0 ? 5000 : 24 * (call % 5), call % 4 == 0), call).status.ok()) return;
        }
      });
    }
  }
}

TEST_P(EveryEdge, alltoallv_is_right) {
  for (const Algorithm& row : catalogue(Collective::alltoallv)) {
    for (const Nodes& nodes : kWorlds) {
      virtual_world::WorldOptions options = just_below(GetParam());
      options.settings.alltoallv = row.name;
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        for (std::uint64_t call = 0; call < 32; ++call) {
          if (!checked_vector_call(communicator, kCounts[call % std::size(kCounts)], call)) return;
        }
      });
    }
  }
}

// Some reads are refused, too.
TEST_P(EveryEdge, allreduce_is_right) {
  std::atomic<unsigned> reads{0};
  for (const Algorithm& row : catalogue(Collective::allreduce)) {
    for (const Nodes& nodes : kWorlds) {
      virtual_world::WorldOptions options = just_below(GetParam());
      options.settings.allreduce = row.name;
      options.links.may_read = [&reads](int) { return ++reads % 7 != 0; };
      virtual_world::world(nodes, options, [](Communicator& communicator) {
        for (std::uint64_t call = 0; call < 24; ++call) {
          const Side side = call % 2 == 0 ? Side::apart : Side::in_place;
          if (!checked_allreduce(communicator, allreduce_shape(call % 3 == 0 ? 5000 : 6 * (call % 5)), call, side).status.ok()) return;
        }
      });
    }
  }
}

TEST_P(EveryEdge, pending_calls_are_right) {
  virtual_world::WorldOptions options = just_below(GetParam());
  options.settings.alltoall = "node_shared";
  options.suspend_seed = 3;
  pending_world({0, 0, 0}, options, [](PendingRank& mine) {
    std::vector<OutstandingCall> calls;
    for (std::uint64_t number = 0; number < 60; ++number) {
      Slot& slot = *mine.communicator.next_pending_slot();
      calls.push_back(number % 2 == 0 ? pending_alltoall(slot, alltoall_shape(200), number)
                                      : pending_alltoallv(slot, kCounts[number % std::size(kCounts)], number));
      mine.calls.start(calls.back()->call());
    }
    advance_all(mine.calls);
    for (const auto& one : calls) EXPECT_EQ(one->wrong(), "") << one->call().what;
  });
}

// The call that began so long ago is over. An error is met in the first call after the edge all the same.
TEST_P(EveryEdge, errors_are_met_in_their_call) {
  virtual_world::WorldOptions options = just_below(GetParam());
  options.settings.patience_ms = 20;
  MeetingPoint all(2);
  virtual_world::world({0, 0}, options, [&all](Communicator& communicator) {
    for (std::uint64_t call = 0; call < 12; ++call) checked_call(communicator, alltoall_shape(64), call);
    AlltoallCase one(communicator.topology, alltoall_shape(64), 1);
    const Shape shape = alltoall_shape(communicator.topology.rank == 0 ? 64 : 32);
    EXPECT_FALSE(run_collective(communicator, shape, one.buffers()).status.ok());
    all.meet();  // Nobody looks at the blocks any more.
    EXPECT_TRUE(run_collective(communicator, alltoall_shape(8), one.buffers()).plan->native());
  });
}

// All ranks have ended their calls, and each will believe that so many rounds have gone by. There are 2^48.
bool may_leap(int edge, std::uint64_t leaps) { return leaps < std::uint64_t{1} << (47 - edge); }
void leap(Communicator& communicator, std::uint64_t rounds) {
  Code worst = Code::ok;
  EXPECT_TRUE(communicator.slot().links->agree(Code::ok, worst).ok());
  communicator.slot().control->skip_epochs(rounds);
}

// A counter that is posted seldom is as old as it may be. Nobody may take it for one that is ahead.
TEST_P(EveryEdge, old_counters_have_not_come_to_the_present_round) {
  const std::uint64_t rounds = std::uint64_t{1} << GetParam();
  for (const std::uint64_t off : {rounds - 1, rounds, rounds + 1}) {
    std::atomic<int> posted{0};
    virtual_world::world({0, 0}, {}, [&](Communicator& communicator) {
      ControlBlock& control = *communicator.slot().control;
      control.begin_call(7, 7);
      const std::uint64_t first = control.next_epoch();
      control.post(fetched, first);
      EXPECT_TRUE(control.wait(1 - communicator.topology.rank, fetched, first).ok());
      EXPECT_TRUE(control.barrier().ok());
      leap(communicator, off);
      const std::uint64_t later = control.next_epoch();
      if (communicator.topology.rank == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        posted = 1;
        control.post(fetched, later);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        posted = 2;
        EXPECT_TRUE(control.barrier().ok());
      } else {
        EXPECT_TRUE(control.wait(0, fetched, later).ok());
        EXPECT_GE(posted, 1) << "did not wait for a counter that is " << off << " rounds old";
        EXPECT_TRUE(control.barrier().ok());
        EXPECT_EQ(posted, 2) << "did not wait in a barrier";
      }
    });
  }
}

// This is the same from above: v-calls of long blocks return when their readers have read, and not before.
TEST_P(EveryEdge, long_blocks_are_read_before_the_call_returns) {
  virtual_world::WorldOptions options;
  options.settings.alltoallv = "node_shared";
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    for (std::uint64_t call = 0; call < 12; ++call) {
      if (communicator.topology.rank == static_cast<int>(call % 3)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (!checked_vector_call(communicator, Counts::long_blocks, call)) return;
      if (call % 3 == 2 && may_leap(GetParam(), call / 3)) leap(communicator, (std::uint64_t{1} << GetParam()) - call % 2);
    }
  });
}

// Nobody has overwritten these packets for exactly so many rounds: those of unequal blocks, then of equal ones.
TEST_P(EveryEdge, old_packets_are_not_taken_for_new_ones) {
  const std::uint64_t rounds = std::uint64_t{1} << GetParam();
  for (const char* row : {"node_shared", "node_shared packet=0"}) {
    virtual_world::WorldOptions options;
    options.settings.alltoallv = row;
    virtual_world::world({0, 0, 0}, options, [&](Communicator& communicator) {
      for (std::uint64_t call = 0; call < 40; ++call) {
        // There are two calls of one kind, one in each half, and exactly so many rounds later two of another kind.
        const Counts counts = kCounts[call / 2 % std::size(kCounts)];
        const int late = static_cast<int>(call % 3);
        if (call > 0 && call % 2 == 0 && may_leap(GetParam(), call / 2 - 1)) leap(communicator, rounds - 2);
        if (communicator.topology.rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (!checked_vector_call(communicator, counts, call)) return;
      }
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
