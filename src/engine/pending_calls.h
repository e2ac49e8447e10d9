// PendingCalls holds calls that have begun and have not ended.
//
// Each call runs on a fiber, a stack of its own whose pages are touched only as needed, with the same algorithm as a blocking call. Where a
// blocking call would spin, the fiber says what it waits for and returns control; it is resumed once that is there. It computes with the
// rounding mode and the traps of the thread that made the call, whichever thread resumes it (base/float_mode.h).
//
// Calls are advanced by the hook in the MPI library's progress or, where the library has none, by a Mover; by blocking calls of ours, whose
// waits make MPI progress; and by the call that begins one. One thread at a time does that, and others that come in meanwhile return at
// once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "comm/plan_summary.h"
#include "engine/engine.h"

namespace crossrail {

struct PendingCall {
  Slot* slot = nullptr;
  Shape shape;
  UserBuffers* user = nullptr;
  bool messages = false;  // Messages were open when the call was made.
  std::uint64_t traced = 0;  // It is the call's event in the trace.
  FloatMode float_mode;  // It belongs to the thread that has started the call.
  bool refused = false;   // This rank's own two sides differ in size, so the call only tells the other ranks.
  // It is called when the call has ended. The call is not touched any more after that.
  void (*ended)(PendingCall&) = nullptr;
  // The end of the call is held back until it is true.
  std::atomic<bool> may_be_told{true};

  // These are set when the call has ended.
  std::atomic<bool> has_ended{false};  // The end was announced or taken.
  Code code = Code::ok;
  std::string what;
  PlanSummary carried_by;

 private:
  friend class PendingCalls;
  bool is_over() const { return over || (fiber != nullptr && fiber->finished()); }
  bool go_on() { return fiber != nullptr && fiber->resume(); }
  Fiber* fiber = nullptr;  // The call has it while it runs.
  bool over = false;       // The call is over without ever having run.
};

class PendingCalls {
 public:
  // Begins the call, or makes it wait until earlier calls of its slot have ended, which end in their order. The call goes as far as it can without
  // waiting. The functions below find out that it has ended.
  void start(PendingCall& call);
  // Lets every call go as far as it can without waiting, and announces those that have ended. Returns how many have ended. If another thread, or an
  // outer call of this thread, is already advancing calls, it returns at once.
  int advance();
  // Serves a caller that has nothing to do until `call` has ended. Checks `looks` times whether calls can go on. Returns true if `call` has ended;
  // its end is not announced then but left to the caller.
  bool take(PendingCall& call, int looks);
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // They count how often calls have been advanced so far, and how often one of them has made progress.
  std::uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }
  std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

 private:
  static void run(void* call);
  // Only one thread at a time may enter. Returns false if another thread, or an outer call of this one, is in.
  bool enter() { return !advancing_.test_and_set(std::memory_order_acquire); }
  void leave() { advancing_.clear(std::memory_order_release); }
  void accept_incoming();
  void go_on();
  bool begin(PendingCall& call);
  void begin_waiting();
  Fiber* free_fiber();
  // Ends the oldest call that could begin if there were a stack for it.
  void end_without_fiber(PendingCall& call);
  int tell(const PendingCall* awaited);
  void end(PendingCall& call);

  std::atomic<std::size_t> count_{0};
  std::atomic<bool> any_incoming_{false};
  std::atomic<std::uint64_t> rounds_{0}, steps_{0};  // Writers hold `advancing_`.
  std::atomic_flag advancing_;
  std::mutex mutex_;
  std::vector<PendingCall*> incoming_;  // The mutex guards it; `advancing_` guards the other members.
  std::vector<PendingCall*> waiting_;   // These wait in order for their slot or for a fiber.
  std::vector<PendingCall*> running_;   // These include calls that are over, until they are announced or taken.
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
  std::chrono::steady_clock::time_point without_fiber_since_;  // It is valid while some call has no fiber.
  bool without_fiber_ = false;
};

}  // namespace crossrail
