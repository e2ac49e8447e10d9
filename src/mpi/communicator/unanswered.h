// Ranks that run without crossrail never answer and mistake its messages for those of the program's calls. A rank that meets only such ranks soon
// reports it, since the program may wait for ever. mpi.h must not be included here.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/words/requests_at.h"

namespace crossrail::mpi {

inline constexpr std::int64_t kLongWaitNs = 10'000'000'000;
// Each prints its sentence once in a process.
void complain_of_waiting();
void complain_of_strangers();  // The messages that have arrived are not from crossrail.

// If ranks are asked in nonblocking calls, only the program waits for the answer, in
// one of those calls. For a minute, a thread watches whether it waits for kLongWaitNs.
class Unanswered {
 public:
  // All ranks are asked for the first time, unless another rank is known to run with crossrail.
  static void asked();
  static void answered();
  static bool watched() { return watched_.load(std::memory_order_relaxed); }
  // A nonblocking call has begun after that; it is native unless crossrail handles it.
  static void note_made(const CallResult& carried, const RequestsAt& request) {
    if (watched() && !carried.done && carried.code == 0 && request.address != 0) began(request[0]);
  }

 private:
  static void began(Word64 request);
  static void watch();
  static inline std::atomic<bool> watched_{false};
};

// A WatchedWait lives while the program completes these requests or tests them.
class WatchedWait {
 public:
  explicit WatchedWait(const RequestsAt& requests) : requests_(requests) {
    if (Unanswered::watched() && requests.address != 0) begin();
  }
  ~WatchedWait() {
    if (index_ >= 0) end();
  }
  WatchedWait(const WatchedWait&) = delete;
  WatchedWait& operator=(const WatchedWait&) = delete;

 private:
  void begin();
  void end();
  RequestsAt requests_;
  int index_ = -1;  // It is the index of the latest call among them.
};

}  // namespace crossrail::mpi
