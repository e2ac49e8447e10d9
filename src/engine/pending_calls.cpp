#include "engine/pending_calls.h"

#include <algorithm>

namespace crossrail {
namespace {

constexpr int kSpinsInACall = 64;
constexpr int kMostPatiences = 20;  // A call waits for the stack of another one for so many times its patience.

// Only one thread at a time counts, so the addition need not be atomic.
void count(std::atomic<std::uint64_t>& number, std::uint64_t more) {
  number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

void PendingCalls::start(PendingCall& call) {
  call.float_mode = FloatMode::of_this_thread();
  count_.fetch_add(1, std::memory_order_relaxed);
  const bool first = enter();
  if (!first) {
    {
      const std::lock_guard lock(mutex_);
      incoming_.push_back(&call);
      any_incoming_.store(true, std::memory_order_relaxed);
    }
    if (!enter()) return;  // The thread that is in, or the next one, begins the call.
  }
  accept_incoming();
  if (call.slot->busy) (void)tell(nullptr);
  if (first && (!waiting_.empty() || !begin(call))) waiting_.push_back(&call);
  begin_waiting();
  leave();
}

int PendingCalls::advance() {
  if (!any() || !enter()) return 0;
  accept_incoming();
  count(rounds_, 1);
  go_on();
  begin_waiting();
  int ended = 0;
  for (int now = tell(nullptr); now > 0; now = tell(nullptr)) {
    ended += now;
    begin_waiting();  // A slot may have become free.
  }
  leave();
  return ended;
}

bool PendingCalls::take(PendingCall& call, int looks) {
  if (!enter()) return false;
  accept_incoming();
  count(rounds_, 1);
  for (PendingCall* one : running_) one->slot->spin(kSpinsInACall);
  for (; looks > 0 && !call.is_over() && !call.has_ended.load(std::memory_order_relaxed); --looks) {
    go_on();
    if (waiting_.empty()) continue;
    (void)tell(&call);
    begin_waiting();
  }
  for (PendingCall* one : running_) one->slot->spin(0);
  const bool taken = call.is_over();
  if (taken) {
    std::erase(running_, &call);
    end(call);
  }
  leave();
  return taken;
}

void PendingCalls::accept_incoming() {
  if (!any_incoming_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  waiting_.insert(waiting_.end(), incoming_.begin(), incoming_.end());
  incoming_.clear();
  any_incoming_.store(false, std::memory_order_relaxed);
}

void PendingCalls::go_on() {
  std::uint64_t steps = 0;
  for (PendingCall* call : running_) steps += call->go_on() ? 1 : 0;
  if (steps > 0) count(steps_, steps);
}

void PendingCalls::run(void* argument) {
  auto& call = *static_cast<PendingCall*>(argument);
  if (call.refused) {
    withdraw(*call.slot, call.shape, Code::mismatch);
    call.code = Code::mismatch;
    call.what = "the send and the receive side of this rank differ in size";
    return;
  }
  const Outcome outcome = run_collective(*call.slot, call.shape, *call.user);
  call.code = outcome.status.code;
  if (!outcome.status.ok()) call.what = outcome.status.what;
  call.carried_by = summary_of(*outcome.plan);
}

Fiber* PendingCalls::free_fiber() {
  if (free_.empty()) {
    auto made = std::make_unique<Fiber>();
    if (!made->usable()) return nullptr;
    fibers_.push_back(std::move(made));
    free_.push_back(fibers_.back().get());
  }
  Fiber* const fiber = free_.back();
  free_.pop_back();
  return fiber;
}

// Returns false and does nothing if the slot is busy or there is no memory for a stack.
bool PendingCalls::begin(PendingCall& call) {
  if (call.slot->busy) return false;
  Fiber* const fiber = free_fiber();
  if (fiber == nullptr) return false;
  call.fiber = fiber;
  call.slot->busy = true;
  call.slot->messages = call.messages;
  fiber->traced = call.traced;
  call.slot->run_on(fiber);
  running_.push_back(&call);
  fiber->start(run, &call, call.float_mode);
  return true;
}

void PendingCalls::begin_waiting() {
  if (waiting_.empty()) return;
  PendingCall* without_fiber = nullptr;  // Once it is set, no later call may begin, because it could overtake an earlier one of its slot.
  const auto has_begun = [&](PendingCall* call) {
    if (without_fiber != nullptr || call->slot->busy) return false;
    if (begin(*call)) return true;
    without_fiber = call;
    return false;
  };
  if (std::erase_if(waiting_, has_begun) > 0) without_fiber_ = false;
  if (without_fiber != nullptr) end_without_fiber(*without_fiber);
}

// A running call will leave its stack to this one. But if it waits, through other ranks, for calls that wait here, none of them would ever end.
// Therefore this call ends with an error after a while.
void PendingCalls::end_without_fiber(PendingCall& call) {
  const auto now = std::chrono::steady_clock::now();
  if (!without_fiber_) without_fiber_since_ = now;
  without_fiber_ = true;
  const std::chrono::milliseconds patience(call.slot->owner.settings.patience_ms);
  if (!running_.empty() && now - without_fiber_since_ < kMostPatiences * patience) return;
  without_fiber_ = false;
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &call));
  call.slot->run_on(nullptr);
  withdraw(*call.slot, call.shape, Code::no_memory);
  call.code = Code::no_memory;
  call.what = "no memory for the stack of a pending call";
  call.over = true;
  running_.push_back(&call);
}

// Its slot and its fiber become free.
void PendingCalls::end(PendingCall& call) {
  if (call.fiber != nullptr) {
    free_.push_back(call.fiber);
    call.fiber = nullptr;
    call.slot->busy = false;
  }
  call.over = false;
  count_.fetch_sub(1, std::memory_order_release);
  call.has_ended.store(true, std::memory_order_release);
}

// Announces the calls that are over, except the one that a thread waits to take. Returns how many.
int PendingCalls::tell(const PendingCall* awaited) {
  int told = 0;
  for (std::size_t at = 0; at < running_.size();) {
    PendingCall* const call = running_[at];
    if (call == awaited || !call->is_over() || !call->may_be_told.load(std::memory_order_acquire)) {
      ++at;
      continue;
    }
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    end(*call);
    call->ended(*call);
    ++told;
  }
  return told;
}

}  // namespace crossrail
