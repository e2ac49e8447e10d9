// Calls may be pending. These tests check their order, their slots, who advances them, and what their end may do.

#include <atomic>
#include <mutex>

#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

TEST(PendingCalls, of_a_lone_rank_end_when_next_advanced) {
  pending_world({0}, alone(), [](PendingRank& mine) {
    Calls calls;
    for (std::uint64_t number = 0; number < 5; ++number) {
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(40), number));
      mine.calls.start(calls.back()->call());
      EXPECT_FALSE(calls.back()->has_ended());
      EXPECT_EQ(mine.calls.advance(), 1);
      EXPECT_TRUE(calls.back()->has_ended());
      EXPECT_FALSE(mine.calls.any());
    }
    expect_right(calls);
  });
}

// Many more calls than slots are started at once. Those of a slot end in their order on every rank.
TEST(PendingCalls, wait_for_their_slot_and_end_in_order_there) {
  for (const std::uint64_t slots : {1u, 2u, 4u, 7u}) {
    pending_world({0, 0, 0}, with_slots(slots), [slots](PendingRank& mine) {
      constexpr std::size_t kCalls = 60;
      Calls calls;
      std::vector<std::size_t> order;
      for (std::size_t number = 0; number < kCalls; ++number) {
        Slot& slot = *mine.communicator.next_pending_slot();
        EXPECT_EQ(&slot, &mine.communicator.slot(1 + number % slots));
        calls.push_back(pending_alltoall(slot, alltoall_shape(number % 3 == 0 ? 3000 : 8 * number), number));
        calls.back()->then = [&order, number](Outstanding&) { order.push_back(number); };
      }
      if (mine.communicator.topology.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      for (const auto& one : calls) mine.calls.start(one->call());
      advance_all(mine.calls);
      expect_right(calls);
      EXPECT_EQ(order.size(), kCalls);
      for (std::size_t number = 0; number + slots < kCalls; ++number) {
        const auto place = std::find(order.begin(), order.end(), number);
        EXPECT_GT(std::find(order.begin(), order.end(), number + slots), place) << number;
      }
    });
  }
}

// A call that cannot go on holds up none on another slot.
TEST(PendingCalls, of_other_slots_overtake_one_that_waits) {
  pending_world({0, 0}, with_slots(2), [](PendingRank& mine) {
    Calls calls;
    for (std::uint64_t number = 0; number < 3; ++number) {
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(64), number));
    }
    const bool late = mine.communicator.topology.rank == 1;
    std::swap(calls[0], calls[late ? 1 : 0]);  // Rank 1 begins with the second slot.
    mine.calls.start(calls[0]->call());
    if (late) {
      advance_until(mine.calls, [&] { return calls[0]->has_ended(); });
      mine.calls.start(calls[1]->call());
    } else {
      mine.calls.start(calls[1]->call());
      advance_until(mine.calls, [&] { return calls[1]->has_ended(); });
    }
    mine.calls.start(calls[2]->call());
    advance_all(mine.calls);
    std::swap(calls[0], calls[late ? 1 : 0]);
    expect_right(calls);
  });
}

TEST(PendingCalls, on_several_communicators_at_the_same_time) {
  const Nodes nodes{0, 0, 1};
  std::vector<PendingCalls> pending(nodes.size());
  virtual_world::WorldOptions options = with_slots(2);
  options.links.meanwhile = [&](int rank) { (void)pending[static_cast<std::size_t>(rank)].advance(); };
  virtual_world::ThreadWorld first(nodes, options), second(nodes, options), third({0, 0, 0}, options);
  first.run([&](Communicator& communicator) {
    const int rank = communicator.topology.rank;
    PendingCalls& mine = pending[static_cast<std::size_t>(rank)];
    Calls calls;
    for (std::uint64_t number = 0; number < 90; ++number) {
      Communicator& one = number % 3 == 0 ? communicator : (number % 3 == 1 ? second : third).communicator(rank);
      EXPECT_TRUE(one.slot().links->open_messages().ok());
      calls.push_back(pending_alltoallv(*one.next_pending_slot(), kCounts[number / 3 % std::size(kCounts)], number));
      mine.start(calls.back()->call());
    }
    advance_all(mine);
    expect_right(calls);
  });
}

// One process has many threads. A thread that comes by advances, and others pass by.
TEST(PendingCalls, are_advanced_by_any_thread) {
  pending_world({0, 0, 0}, with_slots(4), [](PendingRank& mine) {
    std::atomic<bool> over{false};
    std::atomic<int> ended{0};
    std::vector<std::thread> threads;
    for (int number = 0; number < 3; ++number) {
      threads.emplace_back([&] {
        while (!over) {
          ended += mine.calls.advance();
          std::this_thread::yield();
        }
      });
    }
    Calls calls;
    for (std::uint64_t number = 0; number < 100; ++number) {
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(number % 2 == 0 ? 24 : 5000), number));
      mine.calls.start(calls.back()->call());
    }
    advance_all(mine.calls);
    over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(ended, 100);
    expect_right(calls);
  });
}

// Several threads start calls, each on a communicator of its own. Nobody else knows their order.
TEST(PendingCalls, are_started_by_several_threads) {
  constexpr std::size_t kThreads = 3;
  std::vector<PendingCalls> pending(2);
  std::vector<std::unique_ptr<virtual_world::ThreadWorld>> worlds;
  for (std::size_t number = 0; number <= kThreads; ++number) worlds.push_back(std::make_unique<virtual_world::ThreadWorld>(Nodes{0, 0}, with_slots(3)));
  worlds[kThreads]->run([&](Communicator& communicator) {
    PendingCalls& mine = pending[static_cast<std::size_t>(communicator.topology.rank)];
    std::vector<std::thread> threads;
    for (std::size_t number = 0; number < kThreads; ++number) {
      threads.emplace_back([&, number] {
        Communicator& own = worlds[number]->communicator(communicator.topology.rank);
        for (std::uint64_t call = 0; call < 40; ++call) {
          const OutstandingCall one = pending_alltoall(*own.next_pending_slot(), alltoall_shape(8 + call), call);
          std::atomic<bool> ended{false};
          one->then = [&](Outstanding&) { ended = true; };
          mine.start(one->call());
          advance_until(mine, [&] { return ended.load(); });
          EXPECT_EQ(one->wrong(), "");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(mine.any());
  });
}

// The end of a call starts the next one, on the same slot and on others, again and again.
TEST(PendingCalls, are_started_by_the_end_of_another) {
  pending_world({0, 0, 0}, with_slots(2), [](PendingRank& mine) {
    constexpr std::uint64_t kCalls = 40;
    Calls calls;
    std::function<void()> next = [&] {
      if (calls.size() == kCalls) return;
      const std::uint64_t number = calls.size();
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(100 + number), number));
      calls.back()->then = [&](Outstanding&) {
        EXPECT_EQ(mine.calls.advance(), 0) << "it is being advanced further up";
        next();
      };
      mine.calls.start(calls.back()->call());
    };
    next();
    advance_until(mine.calls, [&] { return calls.size() == kCalls && !mine.calls.any(); });
    expect_right(calls);
  });
}

// The call is its owner's again when it is told of its end. It may be gone when that returns.
TEST(PendingCalls, are_not_touched_once_they_have_ended) {
  pending_world({0, 0}, with_slots(3), [](PendingRank& mine) {
    int right = 0;
    for (std::uint64_t number = 0; number < 50; ++number) {
      auto* const one = pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(64), number).release();
      one->then = [&](Outstanding& ended) {
        right += ended.wrong().empty() ? 1 : 0;
        const auto gone = std::move(ended.then);
        const OutstandingCall dropped(&ended);
      };
      mine.calls.start(one->call());
    }
    advance_all(mine.calls);
    EXPECT_EQ(right, 50);
  });
}

TEST(PendingCalls, blocking_calls_run_in_between_whoever_waits_for_whom) {
  pending_world({0, 0, 0}, with_slots(4), [](PendingRank& mine) {
    Calls calls;
    for (std::uint64_t number = 0; number < 40; ++number) {
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(70'000), number));
      mine.calls.start(calls.back()->call());
      // One rank waits for its pending call first, and the others come to it only behind the blocking one.
      if (mine.communicator.topology.rank == static_cast<int>(number % 3)) advance_until(mine.calls, [&] { return calls.back()->has_ended(); });
      checked_call(mine.communicator, alltoall_shape(64), number);
    }
    advance_all(mine.calls);
    expect_right(calls);
  });
}

// A rank whose own two sides differ refuses. The others hear of it, and nobody waits for ever.
TEST(PendingCalls, refused_by_one_rank_are_errors_everywhere) {
  pending_world({0, 0, 0}, with_slots(2), [](PendingRank& mine) {
    const int rank = mine.communicator.topology.rank;
    Calls calls;
    for (std::uint64_t number = 0; number < 6; ++number) {
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(64), number));
      calls.back()->call().refused = rank == 1 && number == 2;
      mine.calls.start(calls.back()->call());
    }
    advance_all(mine.calls);
    EXPECT_NE(calls[2]->call().code, Code::ok);
    EXPECT_TRUE(rank != 1 || calls[2]->call().code == Code::mismatch);
    for (const auto& one : calls) {
      EXPECT_TRUE(one->has_ended());
      EXPECT_EQ(one->call().code == Code::ok, one->call().what.empty());
      EXPECT_TRUE(one->call().code != Code::ok || one->wrong().empty());
    }
    EXPECT_TRUE(mine.communicator.broken);
    mine.all.meet();
  });
}

}  // namespace
}  // namespace crossrail::tests
