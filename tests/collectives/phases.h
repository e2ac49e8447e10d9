// These are phases of a test whose ranks are threads, without a clock. Ranks wait for each other, whatever has become of their communicator, or until
// others have come to some point. A time limit only tells a hang from a slow machine.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "virtual_world/thread_world.h"

namespace crossrail::tests {

constexpr std::chrono::seconds kHang(180);

[[noreturn]] inline void hangs(const char* what) {
  std::fprintf(stderr, "%s hang in %s\n", what, testing::UnitTest::GetInstance()->current_test_info()->name());
  std::abort();
}

// Calls `meanwhile()` again and again until `done()`.
template <class Done, class Meanwhile>
void wait_until(Done done, Meanwhile meanwhile) {
  const auto deadline = std::chrono::steady_clock::now() + kHang;
  while (!done()) {
    meanwhile();
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() > deadline) hangs("ranks");
  }
}
template <class Done>
void wait_until(Done done) {
  wait_until(done, [] {});
}

// So many ranks wait for each other here, again and again.
class MeetingPoint {
 public:
  explicit MeetingPoint(std::size_t ranks) : ranks_(ranks) {}
  void meet() {
    std::unique_lock lock(mutex_);
    const std::size_t round = round_;
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    if (!changed_.wait_for(lock, kHang, [&] { return round_ != round; })) hangs("ranks");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ranks_;
  std::size_t arrived_ = 0;
  std::size_t round_ = 0;
};

// Runs one world whose ranks end together. The test is not about a rank that has ended, nor about memory that has gone while others
// may still read it.
inline void world_that_ends_together(const std::vector<int>& nodes, const virtual_world::WorldOptions& options,
                                     const std::function<void(Communicator&)>& body) {
  MeetingPoint end(nodes.size());
  virtual_world::world(nodes, options, [&](Communicator& communicator) {
    body(communicator);
    end.meet();
  });
}

// Waits until `rank` of this node has begun `call` of the slot for blocking calls.
inline void wait_until_in_call(Communicator& communicator, int rank, std::uint64_t call) {
  const RankLines& lines = communicator.slot().control->lines(rank);
  wait_until([&] { return lines.descriptor[call & 1].call.load(std::memory_order_acquire) >= call; });
}

}  // namespace crossrail::tests
