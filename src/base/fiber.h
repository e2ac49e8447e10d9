// Fiber is a stack of its own on which a job runs until it has to wait, and later goes on where it was.
//
// Algorithms are written once, as straight code that waits. On the caller's stack a wait spins; on a fiber it gives control back to whoever
// has resumed it. A suspended job says what it waits for as a condition that can be asked without switching stacks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/float_mode.h"

namespace crossrail {

class Fiber {
 public:
  Fiber();
  // A job that has not finished is dropped where it stands: its objects are not destroyed.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Returns false if there was no memory for the stack.
  bool usable() const { return stack_ != nullptr; }
  // Runs job(argument) until it returns or waits. The fiber must be free. The job computes in this mode to its end, and flags that it
  // raises belong to the thread that has resumed it.
  void start(void (*job)(void*), void* argument, const FloatMode& mode = FloatMode::of_this_thread());
  // Resumes the job if what it waits for is there, and returns whether it did. Any thread may call it, but only one at a time.
  bool resume() {
    if (finished_ || !waits_for_(condition_)) return false;
    go_on();
    return true;
  }
  bool finished() const { return finished_; }
  // This is the pending call that runs on it, as the trace numbers it (base/trace.h), or 0.
  std::uint64_t traced = 0;

  // The job calls this, and it returns when ready() is true. Another thread may have resumed the job by then, so no address of thread-local
  // memory may be kept across it.
  template <class Ready>
  void wait_until(Ready ready) {
    waits_for_ = [](void* condition) { return static_cast<bool>((*static_cast<Ready*>(condition))()); };
    condition_ = &ready;
    suspend();
  }
  // The job calls this before it looks whether it has to wait at all. Tests suspend it there in any case, until `released` says otherwise,
  // and resume jobs in random order.
  void before_wait() {
    bool (*const may_go_on)() = released.load(std::memory_order_relaxed);
    if (may_go_on != nullptr) wait_until(may_go_on);
  }
  static inline std::atomic<bool (*)()> released{nullptr};
  static bool tested() { return released.load(std::memory_order_relaxed) != nullptr; }
  // Tests set this to act as if there were no memory for further stacks.
  static inline std::atomic<bool> out_of_memory{false};

 private:
  struct Stack;
  void go_on();
  void suspend();
  static void run_jobs(Fiber& fiber);

  std::unique_ptr<Stack> stack_;
  void (*job_)(void*) = nullptr;
  void* argument_ = nullptr;
  FloatMode mode_;
  FloatMode::Flags raised_{};
  bool (*waits_for_)(void*) = nullptr;
  void* condition_ = nullptr;
  bool finished_ = true;
};

}  // namespace crossrail
