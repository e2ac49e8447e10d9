// A thread advances pending calls while nobody else does, and beside others who do.

#include "engine/mover.h"

#include <dirent.h>

#include <atomic>
#include <csignal>
#include <fstream>

#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

virtual_world::WorldOptions options() {
  virtual_world::WorldOptions made;
  made.settings.slots = 4;
  made.settings.alltoall = "node_shared";
  return made;
}

// These are calls and how many of them have ended. A thread that sees the number sees what they have received.
struct Started {
  std::vector<OutstandingCall> calls;
  std::atomic<std::size_t> ended{0};

  Outstanding& add(OutstandingCall call) {
    call->then = [this](Outstanding&) { ended.fetch_add(1, std::memory_order_release); };
    calls.push_back(std::move(call));
    return *calls.back();
  }
  bool all_ended() const { return ended.load(std::memory_order_acquire) == calls.size(); }
  void expect_right() {
    for (const auto& one : calls) {
      EXPECT_EQ(one->call().code, Code::ok) << one->call().what;
      EXPECT_EQ(one->wrong(), "");
    }
  }
};

// Waits without a call to anything of ours.
template <class Done>
void look_on_until(Done done) {
  wait_until(done, [] { std::this_thread::sleep_for(std::chrono::microseconds(200)); });
}

void start(PendingRank& mine, Started& started, Mover& mover, std::uint64_t number) {
  Slot& slot = *mine.communicator.next_pending_slot();
  auto call = number % 2 == 0 ? pending_alltoall(slot, alltoall_shape(number % 3 == 0 ? 30000 : 8 * number), number)
                              : pending_alltoallv(slot, kCounts[number % std::size(kCounts)], number);
  mine.calls.start(started.add(std::move(call)).call());
  mover.watch();
}

TEST(Mover, ends_calls_that_nobody_else_advances) {
  pending_world({0, 0, 0}, options(), [](PendingRank& mine) {
    Mover mover(mine.calls);
    Started started;
    for (std::uint64_t number = 0; number < 40; ++number) start(mine, started, mover, number);
    look_on_until([&] { return started.all_ended(); });
    started.expect_right();
  });
}

TEST(Mover, advances_beside_threads_that_do_so_too) {
  pending_world({0, 0, 0}, options(), [](PendingRank& mine) {
    Mover mover(mine.calls);
    Started started;
    for (std::uint64_t number = 0; number < 120; ++number) {
      start(mine, started, mover, number);
      if (number % 5 == 4) std::this_thread::sleep_for(std::chrono::microseconds(100));
      if (number % 7 != 6) continue;
      std::thread other([&] { advance_until(mine.calls, [&] { return started.ended.load() + 3 >= started.calls.size(); }); });
      other.join();
    }
    look_on_until([&] { return started.all_ended(); });
    started.expect_right();
  });
}

// The mover sleeps where nothing has been pending for a while, and the next call wakes it.
TEST(Mover, is_woken_by_a_call) {
  pending_world({0, 0}, options(), [](PendingRank& mine) {
    Mover mover(mine.calls);
    Started started;
    for (std::uint64_t number = 0; number < 4; ++number) {
      start(mine, started, mover, number);
      look_on_until([&] { return started.all_ended(); });
      std::this_thread::sleep_for(std::chrono::milliseconds(120));
    }
    started.expect_right();
  });
}

TEST(Mover, stopped_leaves_calls_to_others) {
  pending_world({0, 0}, options(), [](PendingRank& mine) {
    Started started;
    Mover mover(mine.calls);
    if (mine.communicator.topology.rank == 0) {
      start(mine, started, mover, 1);
      mover.stop();
      mover.watch();
      mine.all.meet();
    } else {
      mine.all.meet();
      start(mine, started, mover, 1);
    }
    advance_until(mine.calls, [&] { return started.all_ended(); });
    started.expect_right();
  });
}

std::atomic<int> told{0};

TEST(Mover, says_when_it_has_advanced) {
  told = 0;
  pending_world({0, 0}, options(), [](PendingRank& mine) {
    Mover mover(mine.calls, [] { told.fetch_add(1); });
    Started started;
    start(mine, started, mover, 2);
    look_on_until([&] { return started.all_ended(); });
    started.expect_right();
  });
  EXPECT_GT(told.load(), 0);
}

TEST(Mover, keeps_an_end_back_until_it_may_be_told) {
  pending_world({0, 0}, options(), [](PendingRank& mine) {
    Mover mover(mine.calls);
    Started started;
    PendingCall& call = started.add(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(8), 1)).call();
    call.may_be_told = false;
    mine.calls.start(call);
    mover.watch();
    mine.all.meet();
    const std::uint64_t rounds = mine.calls.rounds();
    look_on_until([&] { return mine.calls.rounds() > rounds + 20; });
    EXPECT_EQ(started.ended.load(), 0u);
    call.may_be_told.store(true, std::memory_order_release);
    look_on_until([&] { return started.all_ended(); });
    started.expect_right();
  });
}

// Returns the blocked signals of every mover of this process.
std::vector<std::uint64_t> signals_of_movers() {
  std::vector<std::uint64_t> found;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* const task = readdir(tasks)) {
    std::ifstream status(std::string("/proc/self/task/") + task->d_name + "/status");
    bool mover = false;
    for (std::string word; status >> word;) {
      mover = mover || word == "crossrail-mover";
      if (mover && word == "SigBlk:" && status >> word) found.push_back(std::stoull(word, nullptr, 16));
    }
  }
  closedir(tasks);
  return found;
}

TEST(Mover, has_a_thread_when_it_is_needed_without_the_programs_signals) {
  PendingCalls calls;
  {
    Mover mover(calls);
    EXPECT_EQ(signals_of_movers().size(), 0u);
    mover.watch();
    mover.watch();
    look_on_until([] { return !signals_of_movers().empty(); });
    const auto blocked = signals_of_movers();
    ASSERT_EQ(blocked.size(), 1u);
    for (const int signal : {SIGUSR1, SIGALRM, SIGTERM, SIGCHLD}) EXPECT_NE(blocked[0] & std::uint64_t{1} << (signal - 1), 0u) << signal;
  }
  look_on_until([] { return signals_of_movers().empty(); });
}

}  // namespace
}  // namespace crossrail::tests
