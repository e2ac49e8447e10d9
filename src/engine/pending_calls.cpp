#include "engine/pending_calls.h"

#include <algorithm>

namespace crossrail {

// So often its patience a call waits for the stack of another one.
constexpr int kMostPatiences = 20;

void PendingCalls::start(PendingCall& call) {
  {
    const std::lock_guard lock(mutex_);
    incoming_.push_back(&call);
    any_incoming_.store(true, std::memory_order_relaxed);
  }
  count_.fetch_add(1, std::memory_order_release);
  (void)advance();
}

int PendingCalls::advance(int spins) {
  if (!any() || advancing_.test_and_set(std::memory_order_acquire)) return 0;
  if (any_incoming_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    waiting_.insert(waiting_.end(), incoming_.begin(), incoming_.end());
    incoming_.clear();
    any_incoming_.store(false, std::memory_order_relaxed);
  }
  for (PendingCall* call : running_) {
    if (spins > 0) call->slot->spin(spins);
    call->fiber->resume();
    if (spins > 0) call->slot->spin(0);
  }
  begin_waiting();
  int ended = 0;
  for (int now = end_finished(); now > 0; now = end_finished()) {
    ended += now;
    begin_waiting();  // for a slot that has become free
  }
  advancing_.clear(std::memory_order_release);
  return ended;
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
  call.plan = outcome.plan;
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

void PendingCalls::begin(PendingCall& call, Fiber& fiber) {
  call.fiber = &fiber;
  call.slot->busy = true;
  call.slot->messages = call.messages;
  call.slot->run_on(call.fiber);
  running_.push_back(&call);
  fiber.start(run, &call);
}

void PendingCalls::begin_waiting() {
  if (waiting_.empty()) return;
  PendingCall* without_fiber = nullptr;  // then later calls of a slot could come before earlier ones
  const auto has_begun = [&](PendingCall* call) {
    if (without_fiber != nullptr || call->slot->busy) return false;
    Fiber* const fiber = free_fiber();
    if (fiber == nullptr) {
      without_fiber = call;
      return false;
    }
    begin(*call, *fiber);
    without_fiber_ = false;
    return true;
  };
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), has_begun), waiting_.end());
  if (without_fiber != nullptr) end_without_fiber(*without_fiber);
}

// One that runs will leave its stack. But if that one waits, by way of other ranks, for calls that wait here, none
// would ever end: after a while this one does, with an error.
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
  tell_end(call);
}

void PendingCalls::tell_end(PendingCall& call) {
  count_.fetch_sub(1, std::memory_order_release);
  call.has_ended.store(true, std::memory_order_release);
  call.ended(call);
}

int PendingCalls::end_finished() {
  int ended = 0;
  for (std::size_t at = 0; at < running_.size();) {
    PendingCall* const call = running_[at];
    if (!call->fiber->finished()) {
      ++at;
      continue;
    }
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
    free_.push_back(call->fiber);
    call->slot->busy = false;
    tell_end(*call);
    ++ended;
  }
  return ended;
}

}  // namespace crossrail
