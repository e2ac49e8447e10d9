// CallTurn makes the handled blocking calls of a communicator run one after the other. MPI forbids two threads to make collective calls on one
// communicator at the same time, but MPI libraries accept it when the calls happen to match, and a ControlBlock serves only one call at a time.
#pragma once

#include <sched.h>

#include <atomic>

#include "mpi/library/threads.h"

namespace crossrail::mpi {

// A correct program never waits for its turn.
class CallTurn {
 public:
  // A thread that already holds the turn gets it again: either it left the earlier call by longjmp, or this call is nested in that one.
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

// An InTurn holds the turn for its lifetime if threads may call MPI at the same time.
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
