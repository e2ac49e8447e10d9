// These functions ask what MPI libraries with ULFM (Open MPI 5 and others with MPIX_Comm_revoke) know about failed processes.
#pragma once

#include "base/status.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Returns revoked or peer_lost, as far as this rank knows. It calls no error handler.
Status look_for_failures(MPI_Comm comm);
// Lets receives from any source go on after failures. Returns false if there are no failures to acknowledge.
bool acknowledge_failures(MPI_Comm comm);
// Returns the MPI error class of a code if the library has one of its own for it, otherwise `other`.
int failure_class(Code code, int other);

}  // namespace crossrail::mpi
