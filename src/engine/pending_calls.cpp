#include "engine/pending_calls.h"

#include <algorithm>

namespace crossrail {
namespace {

// By one thread at a time: no locked addition.
void count(std::atomic<std::uint64_t>& number, std::uint64_t more) {
  number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

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
  count(rounds_, 1);
  std::uint64_t steps = 0;
  for (PendingCall* call : running_) {
    if (spins > 0) call->slot->spin(spins);
    steps += call->fiber->resume() ? 1 : 0;
    if (spins > 0) call->slot->spin(0);
  }
  count(steps_, steps);
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
  bool fibers_left = true;  // else later calls of a slot could come before earlier ones
  const auto has_begun = [&](PendingCall* call) {
    if (!fibers_left || call->slot->busy) return false;
    Fiber* const fiber = free_fiber();
    fibers_left = fiber != nullptr;
    if (fibers_left) begin(*call, *fiber);
    return fibers_left;
  };
  waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(), has_begun), waiting_.end());
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
    count_.fetch_sub(1, std::memory_order_release);
    call->has_ended.store(true, std::memory_order_release);
    call->ended(*call);
    ++ended;
  }
  return ended;
}

}  // namespace crossrail
