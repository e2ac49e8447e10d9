// These functions make the requests of pending calls where the MPI library's progress has no hook and a thread advances the calls
// (engine/mover.h).
//
// At MPI_THREAD_MULTIPLE that thread completes them itself, as MPI allows. At other levels it may not. MPICH and its relatives (MPICH 4.0,
// Intel MPI, Cray MPICH) have MPIX_Grequest_start: generalized requests that the library polls while the program completes them. The
// polling function may then call MPI; with several threads it may not, because it runs under the library's lock.
#pragma once

#include "mpi/library/flavour.h"
#include "topology/topology.h"

namespace crossrail::mpi {

// These are declared here because not every flavour's header has them.
using PollFunction = int(void* state, MPI_Status* status);
using WaitFunction = int(int count, void** states, double timeout, MPI_Status* status);

struct RequestFunctions {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  // MPI functions that test or wait for the request call this until the request is complete. MPI_Waitall does not.
  PollFunction* poll;
  // MPI_Waitall calls this one. It returns when the requests are complete, and makes progress meanwhile.
  WaitFunction* wait;
};

// This may be asked once MPI has been initialized.
Advancing who_advances();
inline bool mover_advances() { return who_advances() == Advancing::mover; }
// Returns whether the mover may call MPI.
bool mover_completes();

// Makes a generalized request. It is polled if a mover advances its call and may not complete it. Returns MPI's code.
int start_request(const RequestFunctions& functions, void* state, MPI_Request* request);

}  // namespace crossrail::mpi
