// What MPI libraries with ULFM (Open MPI 5 and later; MPIX_Comm_revoke and others) know of the failures of processes.
#pragma once

#include "base/status.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Errors: revoked; peer_lost, as far as it is known on this rank. Calls no error handler.
Status look_for_failures(MPI_Comm comm);
// Lets receives from any source go on after failures. False where there are none to acknowledge.
bool acknowledge_failures(MPI_Comm comm);
// The MPI error class of a code, where the library has one of its own; otherwise `other`.
int failure_class(Code code, int other);

}  // namespace crossrail::mpi
