// This hooks into the MPI library's progress: the library calls a function of ours whenever a process waits in any MPI call. Open MPI has
// long had such a hook for its own components, and MPICH has offered one since 4.3; we use it from MPICH 5 on.
#pragma once

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Returns whether this MPI library has such a hook.
bool has_progress_hook();

// From now on the library calls `advance` in its progress, perhaps in several threads. If it is not `needed` for a while, or is `over` for
// good, the library may forget it, so hook_progress is called again whenever it is needed. That is cheap if the hook is still there.
struct ProgressHook {
  int (*advance)();
  bool (*needed)();
  bool (*over)();
};
void hook_progress(const ProgressHook& hook);

// Returns whether these requests can be tested within the hook. MPICH does not allow progress to be made there, so they must be complete;
// Open MPI does not mind.
bool may_test_in_hook(const MPI_Request* requests, int count);

// Returns whether functions that make progress, such as MPI_Iprobe, may be called. MPICH 5 locks its list of hooks while it calls one. At
// MPI_THREAD_MULTIPLE, progress made in there would lock it again, which stops the program.
bool may_make_progress();

// Returns whether the library with a hook is MPICH. Version 5.0.2 stops the program if MPI_Waitall finds generalized requests that are not
// complete (an assertion in its request_impl.c); MPI_Wait, Waitsome, Waitany and Test* take them.
bool hooked_into_mpich();

}  // namespace crossrail::mpi
