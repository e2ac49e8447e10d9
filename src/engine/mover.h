// A Mover is a thread that advances pending calls while the program's own threads do not. It serves MPI libraries whose progress has no hook. Calls
// that it advances may use neither MPI nor devices.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "engine/pending_calls.h"

namespace crossrail {

class Mover {
 public:
  // If there is an `after`, it is called whenever calls have been advanced.
  explicit Mover(PendingCalls& calls, void (*after)() = nullptr) : calls_(calls), after_(after) {}
  ~Mover() { stop(); }
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // Returns whether there is a thread, which the first call starts. If the system refuses a thread, that is reported once.
  bool is_there();
  // Calls have begun. The mover advances them until all have ended.
  void watch();
  // Stops for good, and returns when the thread has ended.
  void stop();

 private:
  void run();
  bool move();
  void sleep_until_watched(std::uint64_t seen);

  PendingCalls& calls_;
  void (*after_)();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
  bool tried_ = false;  // The mutex guards it and the thread.
  std::atomic<bool> started_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> asleep_{false};
  std::atomic<std::uint64_t> watched_{0};
};

}  // namespace crossrail
