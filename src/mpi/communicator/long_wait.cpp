#include "mpi/communicator/long_wait.h"

#include <algorithm>
#include <atomic>

#include "base/log.h"
#include "mpi/communicator/unanswered.h"
#include "mpi/observe/counters.h"

namespace crossrail::mpi {
namespace {

// Another thread may write them meanwhile: then a sentence has a wrong name in it.
std::atomic<const Links*> waits_by{nullptr};
std::atomic<const char*> waits_in{""};
std::atomic<std::int64_t> waits_since_ns{0};

std::uint64_t last_call_of(ControlBlock& control, int node_rank) {
  std::uint64_t last = 0;
  for (const CallDescriptor& one : control.lines(node_rank).descriptor) last = std::max(last, one.call.load(std::memory_order_acquire));
  return last;
}

}  // namespace

void LongWait::begins(const char* function, const Links& of_call) {
  waits_since_ns = now_ns();
  waits_in = function;
  waits_by = &of_call;
}

void LongWait::ends() { waits_by = nullptr; }

void LongWait::look(const Links& of_call, ControlBlock& control) {
  static std::atomic<bool> said{false};
  if (waits_by.load(std::memory_order_relaxed) != &of_call || said.load(std::memory_order_relaxed)) return;
  const std::uint64_t call = last_call_of(control, control.node_rank());
  std::int64_t looks_at = 1;
  int late = -1;
  for (int peer = control.node_size() - 1; peer >= 0; --peer) {
    const bool has_begun = last_call_of(control, peer) >= call;
    if (!has_begun) late = peer;
    else if (peer < control.node_rank()) ++looks_at;
  }
  if (late < 0 || now_ns() - waits_since_ns.load() < looks_at * kLongWaitNs || !log_enabled(LogLevel::plan) || said.exchange(true)) return;
  log_line(LogLevel::plan,
           "%s: rank %d of its communicator has waited for %lld s; rank %d, perhaps others too, has not begun the call. If this does not end, ranks "
           "have begun collectives in different orders, or left one out",
           waits_in.load(), control.rank_of(control.node_rank()), static_cast<long long>(looks_at * kLongWaitNs / 1'000'000'000), control.rank_of(late));
}

}  // namespace crossrail::mpi
