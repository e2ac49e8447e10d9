// Requests for pending calls where the MPI library's progress has no hook, and a thread advances them (a Mover).
//
// MPI_THREAD_MULTIPLE      the thread completes them itself, as MPI allows
// other levels             it may not. The MPICH family has generalized requests that the library polls while the
//                          program completes them: MPIX_Grequest_start (MPICH 4.0, Intel MPI, Cray MPICH). What polls
//                          may then call MPI, which it may not with threads: it holds the library's lock
#pragma once

#include "mpi/library/flavour.h"
#include "topology/topology.h"

namespace crossrail::mpi {

// Said here, since not every header of the flavour has them.
using PollFunction = int(void* state, MPI_Status* status);
using WaitFunction = int(int count, void** states, double timeout, MPI_Status* status);

struct RequestFunctions {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  // Called by whatever tests or waits for the request, until it is complete ...
  PollFunction* poll;
  // ... except by MPI_Waitall, which calls this one: it returns when they are complete, and makes progress meanwhile.
  WaitFunction* wait;
};

// Once MPI has been initialised:
Advancing who_advances();
inline bool mover_advances() { return who_advances() == Advancing::mover; }
// Whether the mover may call MPI.
bool mover_completes();

// A generalized request, polled where a mover advances its call and may not complete it. Returns MPI's code.
int start_request(const RequestFunctions& functions, void* state, MPI_Request* request);

}  // namespace crossrail::mpi
