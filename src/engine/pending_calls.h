// PendingCalls: calls that have begun and have not ended.
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
  bool messages = false;  // whether they were open when the call was made
  std::uint64_t traced = 0;  // its event in the trace
  FloatMode float_mode;  // of the thread that has started it
  bool refused = false;   // this rank's own two sides differ in size: the others are told instead
  // Told when it has ended; the call is not touched any more after that.
  void (*ended)(PendingCall&) = nullptr;
  // Until it may be told, its end is kept back.
  std::atomic<bool> may_be_told{true};

  // Then:
  std::atomic<bool> has_ended{false};  // told, or taken
  Code code = Code::ok;
  std::string what;
  PlanSummary carried_by;

 private:
  friend class PendingCalls;
  bool is_over() const { return over || (fiber != nullptr && fiber->finished()); }
  bool go_on() { return fiber != nullptr && fiber->resume(); }
  Fiber* fiber = nullptr;  // while it runs
  bool over = false;       // without ever having run
};

class PendingCalls {
 public:
  // Begins the call, or lets it wait until earlier ones of its slot have ended; they end in their order. It goes as
  // far as it can without waiting; that it has ended is found out by what follows.
  void start(PendingCall& call);
  // Lets every call go as far as it can without waiting, and tells those that have ended. Calls that come in while
  // another thread, or this one further up, is at it return at once. How many have ended.
  int advance();
  // For who has nothing else to do until `call` has ended: looks so many times whether calls can go on. True if it
  // has ended and nobody is told: that is the caller's.
  bool take(PendingCall& call, int looks);
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // How often somebody has advanced them so far, and how often one of them has gone on.
  std::uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }
  std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

 private:
  static void run(void* call);
  // One thread at a time. False: another one is in, or this one further up.
  bool enter() { return !advancing_.test_and_set(std::memory_order_acquire); }
  void leave() { advancing_.clear(std::memory_order_release); }
  void accept_incoming();
  void go_on();
  bool begin(PendingCall& call);
  void begin_waiting();
  Fiber* free_fiber();
  // For the oldest call that could begin if there were a stack for it.
  void end_without_fiber(PendingCall& call);
  int tell(const PendingCall* awaited);
  void end(PendingCall& call);

  std::atomic<std::size_t> count_{0};
  std::atomic<bool> any_incoming_{false};
  std::atomic<std::uint64_t> rounds_{0}, steps_{0};  // written under `advancing_`
  std::atomic_flag advancing_;
  std::mutex mutex_;
  std::vector<PendingCall*> incoming_;  // guarded by the mutex; the others by `advancing_`
  std::vector<PendingCall*> waiting_;   // for their slot or for a fiber, in order
  std::vector<PendingCall*> running_;   // also those that are over, until they are told or taken
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
  std::chrono::steady_clock::time_point without_fiber_since_;  // where some call is
  bool without_fiber_ = false;
};

}  // namespace crossrail
