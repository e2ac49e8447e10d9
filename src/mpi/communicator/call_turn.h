// One carried blocking call of a communicator after the other. MPI forbids two threads to make collective calls on one communicator at the same
// time, but MPI libraries let pass what happens to match, and a ControlBlock serves one call at a time.
#pragma once

#include <sched.h>

#include <atomic>

#include "mpi/library/threads.h"

namespace crossrail::mpi {

// Legal programs never wait for a turn.
class CallTurn {
 public:
  // Of a thread that has it already too: it has left the earlier call by longjmp, or is nested in it.
  void take() {
    const void* nobody = nullptr;
    while (!owner_.compare_exchange_weak(nobody, &this_thread, std::memory_order_acquire) && nobody != &this_thread) {
      nobody = nullptr;
      sched_yield();
    }
  }
  void give() { owner_.store(nullptr, std::memory_order_release); }

 private:
  static inline thread_local char this_thread = 0;
  std::atomic<const void*> owner_{nullptr};
};

// Takes a turn for as long as it lives, where threads may call MPI at the same time.
class InTurn {
 public:
  explicit InTurn(CallTurn* turn) : turn_(turn != nullptr && all_threads_may_call() ? turn : nullptr) {
    if (turn_ != nullptr) turn_->take();
  }
  ~InTurn() {
    if (turn_ != nullptr) turn_->give();
  }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  CallTurn* turn_;
};

}  // namespace crossrail::mpi
