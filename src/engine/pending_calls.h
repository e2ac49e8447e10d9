// PendingCalls: calls that have begun and have not ended. Each runs on a fiber of its own and is advanced by
// whoever comes by: the hook in the MPI library's progress or a Mover, a blocking call of ours, the call that began it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "engine/engine.h"

namespace crossrail {

struct PendingCall {
  Slot* slot = nullptr;
  Shape shape;
  UserBuffers* user = nullptr;
  bool messages = false;  // whether they were open when the call was made
  bool refused = false;   // this rank's own two sides differ in size: the others are told instead
  // Told when it has ended; the call is not touched any more after that.
  void (*ended)(PendingCall&) = nullptr;

  // Then:
  std::atomic<bool> has_ended{false};
  Code code = Code::ok;
  std::string what;
  const Plan* plan = nullptr;

 private:
  friend class PendingCalls;
  Fiber* fiber = nullptr;
};

class PendingCalls {
 public:
  // Begins the call, or lets it wait until earlier ones of its slot have ended; they end in their order. May
  // have ended on return.
  void start(PendingCall& call);
  // Lets every call go as far as it can without waiting. Calls that come in while another thread, or this one
  // further up, is at it return at once. How many have ended.
  // Who has nothing else to do may let each call `spin` before it is suspended again.
  int advance(int spins = 0);
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // How often somebody has advanced them so far, and how often one of them has gone on.
  std::uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }
  std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }

 private:
  static void run(void* call);
  void begin(PendingCall& call, Fiber& fiber);
  void begin_waiting();
  Fiber* free_fiber();
  int end_finished();

  std::atomic<std::size_t> count_{0};
  std::atomic<bool> any_incoming_{false};
  std::atomic<std::uint64_t> rounds_{0}, steps_{0};  // written under `advancing_`
  std::atomic_flag advancing_;
  std::mutex mutex_;
  std::vector<PendingCall*> incoming_;  // guarded by the mutex; the others by `advancing_`
  std::vector<PendingCall*> waiting_;   // for their slot or for a fiber, in order
  std::vector<PendingCall*> running_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
};

}  // namespace crossrail
