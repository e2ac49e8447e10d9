// These tests check the stacks of pending calls: they are reused, and shared when there is no memory for more. The tests also check what becomes of
// calls without any.

#include <atomic>

#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

// With this there is no memory for more stacks than there are.
struct OutOfMemory {
  OutOfMemory() { Fiber::out_of_memory = true; }
  ~OutOfMemory() { Fiber::out_of_memory = false; }
};

TEST(Stacks, calls_without_any_end_with_an_error) {
  const OutOfMemory now;
  pending_world({0, 0}, with_slots(2), [](PendingRank& mine) {
    Calls calls;
    for (std::uint64_t number = 0; number < 5; ++number) {
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(64), number));
      mine.calls.start(calls.back()->call());
    }
    advance_all(mine.calls);
    for (const auto& one : calls) {
      EXPECT_TRUE(one->has_ended());
      EXPECT_EQ(one->call().code, Code::no_memory);
      EXPECT_NE(one->call().what, "");
    }
    mine.all.meet();
    EXPECT_TRUE(checked_call(mine.communicator, alltoall_shape(64), 1).plan->native());
    mine.all.meet();
  });
}

// One rank has none, and the others hear of it.
TEST(Stacks, calls_without_one_on_one_rank_end_everywhere) {
  pending_world({0, 0, 0}, with_slots(2), [](PendingRank& mine) {
    const bool first = mine.communicator.topology.rank == 0;
    Calls calls;
    for (std::uint64_t number = 0; number < 2; ++number) {
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(64), number));
    }
    if (!first) {
      for (const auto& one : calls) mine.calls.start(one->call());
    }
    mine.all.meet();
    if (first) {
      const OutOfMemory now;
      for (const auto& one : calls) mine.calls.start(one->call());
      advance_all(mine.calls);
    }
    advance_all(mine.calls);
    for (const auto& one : calls) EXPECT_NE(one->call().code, Code::ok);
    mine.all.meet();
  });
}

TEST(Stacks, one_is_shared_by_many_calls) {
  pending_world({0, 0}, with_slots(3), [](PendingRank& mine) {
    Calls calls;
    const auto start = [&](std::uint64_t number) {
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(8 + number), number));
      mine.calls.start(calls.back()->call());
    };
    start(0);
    advance_all(mine.calls);
    mine.all.meet();
    const OutOfMemory now;
    mine.all.meet();
    for (std::uint64_t number = 1; number < 30; ++number) start(number);
    advance_all(mine.calls);
    expect_right(calls);
    mine.all.meet();
  });
}

// With one stack each, two ranks begin with different communicators. Neither call can end before the other.
TEST(Stacks, calls_that_wait_for_each_other_s_end_with_an_error) {
  std::vector<PendingCalls> pending(2);
  virtual_world::ThreadWorld first({0, 0}, with_slots(1)), second({0, 0}, with_slots(1));
  MeetingPoint all(2);
  std::atomic<int> errors{0};
  first.run([&](Communicator& communicator) {
    const int rank = communicator.topology.rank;
    PendingCalls& mine = pending[static_cast<std::size_t>(rank)];
    Communicator& other = second.communicator(rank);
    Calls calls;
    const auto start = [&](Communicator& on) {
      calls.push_back(pending_alltoall(*on.next_pending_slot(), alltoall_shape(64), calls.size()));
      mine.start(calls.back()->call());
    };
    start(communicator);
    advance_all(mine);
    all.meet();
    const OutOfMemory now;
    all.meet();
    start(rank == 0 ? communicator : other);
    start(rank == 0 ? other : communicator);
    advance_all(mine);
    for (const auto& one : calls) errors += one->call().code == Code::ok ? 0 : 1;
    all.meet();
  });
  EXPECT_GE(errors, 1);
}

// There are as many stacks as calls that have run at the same time, and no more.
TEST(Stacks, are_reused) {
  const auto mapped = [] {
    std::FILE* const maps = std::fopen("/proc/self/maps", "r");
    int lines = 0;
    for (int one = std::fgetc(maps); one != EOF; one = std::fgetc(maps)) lines += one == '\n' ? 1 : 0;
    std::fclose(maps);
    return lines;
  };
  pending_world({0}, alone(), [&](PendingRank& mine) {
    int before = 0;
    for (std::uint64_t number = 0; number < 3000; ++number) {
      const OutstandingCall one = pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(64), number);
      mine.calls.start(one->call());
      advance_all(mine.calls);
      EXPECT_TRUE(one->has_ended() && one->wrong().empty());
      if (number == 100) before = mapped();
    }
    EXPECT_LE(mapped(), before + 20);
  });
}

}  // namespace
}  // namespace crossrail::tests
