// Ranks that run without crossrail answer nobody, and take its messages for those of the program's calls. Who meets none but such says so
// in a sentence, soon: the program may wait for ever. No mpi.h here.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/words/requests_at.h"

namespace crossrail::mpi {

inline constexpr std::int64_t kLongWaitNs = 10'000'000'000;
// One of these, once a process.
void complain_of_waiting();
void complain_of_strangers();  // what has come is not what crossrail sends

// Where ranks have been asked in nonblocking calls, nobody waits for the answer but the program, in one of those calls. A thread looks whether
// it does for that long, for a minute.
class Unanswered {
 public:
  // All ranks are asked for the first time, unless another one is known to run with crossrail.
  static void asked();
  static void answered();
  static bool watched() { return watched_.load(std::memory_order_relaxed); }
  // A nonblocking call has been begun, after that: by the MPI library, unless it is ours.
  static void note_made(const CallResult& carried, const RequestsAt& request) {
    if (watched() && !carried.done && carried.code == 0 && request.address != 0) began(request[0]);
  }

 private:
  static void began(Word64 request);
  static void watch();
  static inline std::atomic<bool> watched_{false};
};

// Lives while the program completes these requests, or asks whether they are complete.
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
  int index_ = -1;  // of the latest call among them
};

}  // namespace crossrail::mpi
