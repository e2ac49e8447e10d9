// The program waits for a nonblocking or persistent call of ours, and that for a rank which has not begun it. The rank may be late. Or ranks have
// begun their calls in different orders, which MPI forbids, and are in others that the MPI library has: these wait for each other, for ever, and
// nobody else can say why. No mpi.h here.
#pragma once

#include "transport/control_block.h"

namespace crossrail::mpi {

// One of the process, the latest.
class LongWait {
 public:
  // In a function that completes requests, which has waited for a while: for a call of this name, by these Links.
  static void begins(const char* function, const Links& of_call);
  static void ends();
  // By the call, now and then. After ten seconds it says whom it waits for, once a process, where CROSSRAIL_LOG is 1: a
  // rank may be late for good reasons, and programs have their standard error for themselves; of a node's ranks the first one that
  // has begun it, the others later.
  static void look(const Links& of_call, ControlBlock& control);
};

}  // namespace crossrail::mpi
