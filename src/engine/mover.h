// Mover: a thread that advances pending calls while the program's own threads do not, for MPI libraries whose
// progress has no hook. What they run then calls neither MPI nor devices.
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
  // Whenever it has advanced calls it calls `after`, if there is one.
  explicit Mover(PendingCalls& calls, void (*after)() = nullptr) : calls_(calls), after_(after) {}
  ~Mover() { stop(); }
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // Whether there is a thread: it is started at the first time. If the system gives none, that is said once.
  bool is_there();
  // Calls have begun: it looks after them until all have ended.
  void watch();
  // For good. Returns when the thread has ended.
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
  bool tried_ = false;  // guarded by the mutex, as is the thread
  std::atomic<bool> started_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> asleep_{false};
  std::atomic<std::uint64_t> watched_{0};
};

}  // namespace crossrail
