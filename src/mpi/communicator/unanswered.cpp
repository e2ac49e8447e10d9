#include "mpi/communicator/unanswered.h"

#include <chrono>
#include <thread>

#include "base/log.h"
#include "base/own_thread.h"
#include "mpi/observe/counters.h"

namespace crossrail::mpi {
namespace {

constexpr std::int64_t kLookEveryNs = 250'000'000, kLooks = 240;

std::atomic<bool> any_answered{false}, any_asked{false};
// This is the latest native nonblocking call that has not ended.
std::atomic<Word64> latest{0};
std::atomic<std::int64_t> latest_began_ns{0};  // Zero means that there is none.
// It counts the program's waits for that call.
std::atomic<int> program_waits{0};
std::atomic<std::int64_t> looked_ns{0};

void say_once(const char* sentence) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) log_line(LogLevel::error, "%s", sentence);
}

bool program_waits_long() {
  const std::int64_t began = latest_began_ns.load(), now = now_ns();
  return began != 0 && now - began > kLongWaitNs && (program_waits.load() > 0 || now - looked_ns.load() < kLookEveryNs);
}

}  // namespace

void complain_of_waiting() {
  say_once("still waiting for all ranks in the first call on a communicator; if this does not end, some rank runs without "
           "crossrail: preload it in every rank or in none, and give CROSSRAIL_REPRODUCIBLE to all or none");
}

void complain_of_strangers() {
  say_once("what another rank has sent in the first calls on a communicator is not crossrail's: some rank runs without it, or with "
           "another build: preload the same one in every rank, or none");
}

void Unanswered::watch() {
  for (int look = 0; look < kLooks && !any_answered.load(); ++look) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLookEveryNs));
    if (!program_waits_long()) continue;
    complain_of_waiting();
    break;
  }
  watched_ = false;
}

void Unanswered::asked() {
  if (any_answered.load(std::memory_order_relaxed) || any_asked.exchange(true)) return;
  watched_ = true;
  std::thread watcher = start_own_thread("crossrail-watch", watch);
  if (watcher.joinable()) watcher.detach();
  else watched_ = false;
}

void Unanswered::answered() { any_answered.store(true, std::memory_order_relaxed); }

void Unanswered::began(Word64 request) {
  latest = request;
  latest_began_ns = now_ns();
}

void WatchedWait::begin() {
  if (latest_began_ns.load() == 0) return;
  for (int one = 0; one < requests_.count && index_ < 0; ++one) {
    if (requests_[one] == latest.load()) index_ = one;
  }
  if (index_ >= 0) program_waits.fetch_add(1);
}

void WatchedWait::end() {
  looked_ns = now_ns();
  if (requests_[index_] != latest.load()) latest_began_ns = 0;
  program_waits.fetch_sub(1);
}

}  // namespace crossrail::mpi
