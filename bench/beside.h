// A kernel of the program's own beside the calls, as programs have that compute while they communicate: in a stream of its own, on half of
// the device's multiprocessors. Every contender has the same one.
#pragma once

#include <string>

#include "calls.h"

namespace bench {

// Makes this process's device ready for it. Returns what is wrong; empty: nothing.
std::string prepare_beside();

// Computes as long as it lives, where the calls want that: from when the device has begun. Not while memory is allocated or freed, for which
// drivers wait until a device is idle.
class WorkBeside {
 public:
  explicit WorkBeside(const Calls& calls);
  ~WorkBeside();
  WorkBeside(const WorkBeside&) = delete;
  WorkBeside& operator=(const WorkBeside&) = delete;

 private:
  bool running_;
};

}  // namespace bench
