// These functions tell communicators what other entry points do. mpi.h must not be included here.
#pragma once

#include "mpi/words/call_result.h"

namespace crossrail::mpi {

// MPI_Finalize is about to be called. MPICH waits there before anything else for its progress hooks to end.
void finalize_begins();

// A blocking collective that crossrail does not handle is about to begin on the communicator in `comm`; every rank waits in it for all others.
void blocking_collective(Word64 comm);

// Calls the error handler for an error that a blocking call has ended with (raised_errors.h). This is the last step of a call: the handler may
// not return.
void raise_error(const CallResult& result);

}  // namespace crossrail::mpi
