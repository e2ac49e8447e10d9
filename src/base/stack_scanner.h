// Garbage collectors stop the program's threads by a signal, and then read every stack from where the signal's handler has begun to the end
// that the thread's own stack has. On a fiber that would lead through memory that is not there: such signals wait until the thread has left it.
#pragma once

#include <signal.h>

namespace crossrail {

// Looks whether the program has handlers for the signals of collectors: SIGPWR (Boehm's) or the first of the real-time signals (D's).
void look_for_stack_scanners();

class HeldFromScanners {
 public:
  HeldFromScanners();
  ~HeldFromScanners();
  HeldFromScanners(const HeldFromScanners&) = delete;
  HeldFromScanners& operator=(const HeldFromScanners&) = delete;

 private:
  bool held_;
  sigset_t before_;
};

}  // namespace crossrail
