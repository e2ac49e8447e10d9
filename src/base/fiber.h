// Fiber: a stack of its own, on which a job runs until it has to wait, and goes on later where it was.
//
// Algorithms are written once, as straight code that waits. On the caller's stack a wait spins; on a fiber
// it gives control back to whoever has resumed it. A suspended job says what it waits for as a
// condition that can be asked without switching stacks.
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

  // False if there is no memory for the stack.
  bool usable() const { return stack_ != nullptr; }
  // Runs job(argument) until it returns or waits. The fiber must be free. The job computes in this mode to its end; flags that it raises are
  // those of who has resumed it.
  void start(void (*job)(void*), void* argument, const FloatMode& mode = FloatMode::of_this_thread());
  // Goes on if what the job waits for is there: whether it did. By one thread at a time, any.
  bool resume() {
    if (finished_ || !waits_for_(condition_)) return false;
    go_on();
    return true;
  }
  bool finished() const { return finished_; }
  // The pending call that runs on it, in the trace (base/trace.h); 0: none.
  std::uint64_t traced = 0;

  // Within the job: returns when ready() is true; it may have been resumed by another thread by then, so
  // that no address of thread-local memory may be kept across it.
  template <class Ready>
  void wait_until(Ready ready) {
    waits_for_ = [](void* condition) { return static_cast<bool>((*static_cast<Ready*>(condition))()); };
    condition_ = &ready;
    suspend();
  }
  // Within the job, before it looks whether it has to wait at all. Tests have it suspended there in any case,
  // until `released` says otherwise: who resumes jobs then draws lots for their order.
  void before_wait() {
    bool (*const may_go_on)() = released.load(std::memory_order_relaxed);
    if (may_go_on != nullptr) wait_until(may_go_on);
  }
  static inline std::atomic<bool (*)()> released{nullptr};
  static bool tested() { return released.load(std::memory_order_relaxed) != nullptr; }
  // Tests: as if there were no memory for further stacks.
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
