#include "engine/mover.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/log.h"
#include "base/own_thread.h"

namespace crossrail {
namespace {

using std::chrono::microseconds;
using Clock = std::chrono::steady_clock;

// Naps get longer while there is nothing to do, so that the mover takes little time from ranks on the same core.
constexpr microseconds kShortestNap{50};
constexpr microseconds kLongestNap{1000};
// It waits this long after a step, because the next step is then likely to follow soon.
constexpr microseconds kLinger{20};
// Without a pending call, it naps so often before it sleeps, because waking a thread for every call would cost more than the naps.
constexpr int kIdleNaps = 50;

}  // namespace

bool Mover::is_there() {
  const std::lock_guard lock(mutex_);
  if (tried_) return thread_.joinable();
  tried_ = true;
  started_.store(true, std::memory_order_release);
  thread_ = start_own_thread("crossrail-mover", [this] { run(); });
  if (!thread_.joinable()) log_line(LogLevel::error, "cannot create a thread for nonblocking calls, so MPI handles them: %s", std::strerror(errno));
  return thread_.joinable();
}

void Mover::watch() {
  if (!started_.load(std::memory_order_acquire)) (void)is_there();
  // This addition and the ones in sleep_until_watched have a single order, so at least one of the two threads sees what the other has stored.
  watched_.fetch_add(1, std::memory_order_seq_cst);
  if (!asleep_.load(std::memory_order_seq_cst)) return;
  const std::lock_guard lock(mutex_);
  wake_.notify_one();
}

void Mover::stop() {
  std::thread ending;
  {
    const std::lock_guard lock(mutex_);
    tried_ = true;
    stopping_.store(true, std::memory_order_relaxed);
    wake_.notify_one();
    std::swap(ending, thread_);
  }
  if (ending.joinable()) ending.join();
}

void Mover::sleep_until_watched(std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  asleep_.store(true, std::memory_order_seq_cst);
  wake_.wait(lock, [&] { return stopping_.load(std::memory_order_relaxed) || watched_.load(std::memory_order_seq_cst) != seen; });
  asleep_.store(false, std::memory_order_relaxed);
}

// Advances calls as long as any makes progress. Returns false if none did.
bool Mover::move() {
  bool moved = false;
  auto last = Clock::now();
  while (calls_.any() && !stopping_.load(std::memory_order_relaxed)) {
    const std::uint64_t steps = calls_.steps();
    (void)calls_.advance();
    if (after_ != nullptr) after_();
    const auto now = Clock::now();
    if (calls_.steps() != steps) {
      moved = true;
      last = now;
    } else if (!moved || now - last > kLinger) {
      break;
    }
    sched_yield();
  }
  return moved;
}

void Mover::run() {
  microseconds nap = kShortestNap;
  int idle = 0;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const std::uint64_t rounds = calls_.rounds();
    std::this_thread::sleep_for(nap);
    const std::uint64_t watched = watched_.load(std::memory_order_relaxed);
    idle = calls_.any() ? 0 : idle + 1;
    if (idle > kIdleNaps) {
      sleep_until_watched(watched);
      idle = 0;
      nap = kShortestNap;
      continue;
    }
    // If the program's threads have advanced the calls meanwhile, the mover has nothing to do.
    const bool left_alone = calls_.rounds() == rounds;
    nap = left_alone && move() ? kShortestNap : std::min(2 * nap, kLongestNap);
  }
}

}  // namespace crossrail
