// The MPI library's progress, from inside: a function of ours that it calls whenever a process waits in any
// MPI call. Open MPI has had one for its own components since long, MPICH offers one since 4.3.
#pragma once

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Whether this MPI library has such a hook.
bool has_progress_hook();

// From now on the library calls `advance` in its progress; more than one thread may. When it is not `needed` for
// a while, or `over` for good, the library may forget it: hook_progress is to be called again whenever it is.
// Cheap where it is hooked already.
struct ProgressHook {
  int (*advance)();
  bool (*needed)();
  bool (*over)();
};
void hook_progress(const ProgressHook& hook);

// Whether these requests can be tested within the hook without making progress there, which MPICH does not
// allow: they are complete. Open MPI does not mind.
bool may_test_in_hook(const MPI_Request* requests, int count);

// Whether MPI may be called for what makes progress, such as MPI_Iprobe. MPICH 5 locks its list of hooks while it calls one: at
// MPI_THREAD_MULTIPLE, progress made in there would lock it again, which stops the program.
bool may_make_progress();

// Whether the library with a hook is MPICH. Version 5.0.2 stops the program if MPI_Waitall finds generalized requests
// that have not ended (an assertion in its request_impl.c; MPI_Wait, Waitsome, Waitany and Test* take them).
bool hooked_into_mpich();

}  // namespace crossrail::mpi
