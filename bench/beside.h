// A kernel of the program's own runs beside the calls, as in programs that compute while they communicate. It has a stream of its own and uses half
// of the device's multiprocessors. Every contender has the same kernel.
#pragma once

#include <string>

#include "calls.h"

namespace bench {

// Prepares this process's device for it. Returns what is wrong, or an empty string.
std::string prepare_beside();

// If the calls want it, it computes for its lifetime, beginning when the device has started. It must not exist while memory is allocated or freed,
// because drivers then wait until the device is idle.
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
