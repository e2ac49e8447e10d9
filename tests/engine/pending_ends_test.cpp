// These tests check who hears of the end of a call that was pending. The end is kept back until it may be told, and is taken by the thread that waits
// for it.

#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

OutstandingCall next_call(PendingRank& mine, std::uint64_t number, std::uint64_t bytes) {
  return pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(bytes), number);
}

// The one that has started a call may have things to do before it can be told. Its slot stays its own until then.
TEST(EndOfPendingCalls, is_kept_back_until_it_may_be_told) {
  virtual_world::WorldOptions options = impatient("linear", "linear");
  options.settings.slots = 1;
  pending_world({0}, options, [](PendingRank& mine) {
    std::vector<OutstandingCall> calls;
    for (std::uint64_t number = 0; number < 3; ++number) calls.push_back(next_call(mine, number, 40 + number));
    calls[0]->call().may_be_told = false;
    for (const auto& one : calls) mine.calls.start(one->call());
    EXPECT_EQ(mine.calls.advance(), 0);
    EXPECT_TRUE(mine.calls.any());
    calls[0]->call().may_be_told = true;
    EXPECT_EQ(mine.calls.advance(), 3);
    EXPECT_FALSE(mine.calls.any());
    for (const auto& one : calls) EXPECT_EQ(one->wrong(), "");
  });
}

// Nobody else is told then. The calls before it on its slot are told.
TEST(EndOfPendingCalls, is_taken_by_who_waits_for_it) {
  virtual_world::WorldOptions options = impatient("node_shared", "node_shared");
  options.settings.slots = 2;
  pending_world({0, 0, 0}, options, [](PendingRank& mine) {
    for (std::uint64_t round = 0; round < 30; ++round) {
      std::vector<OutstandingCall> calls;
      std::size_t told = 0;
      for (std::uint64_t number = 0; number < 5; ++number) {
        calls.push_back(next_call(mine, number, number % 2 == 0 ? 16 : 9000));
        calls.back()->then = [&told](Outstanding&) { ++told; };
        mine.calls.start(calls.back()->call());
      }
      PendingCall& last = calls.back()->call();
      while (!mine.calls.take(last, 10)) std::this_thread::yield();
      EXPECT_TRUE(last.has_ended);
      EXPECT_FALSE(mine.calls.take(last, 10));
      EXPECT_GE(told, 2u);
      advance_all(mine.calls);
      EXPECT_EQ(told, calls.size() - 1);
      for (const auto& one : calls) EXPECT_EQ(one->wrong(), "");
    }
  });
}

}  // namespace
}  // namespace crossrail::tests
