// MPI_Request_free of nonblocking collectives and MPI_Cancel of all that are under way. MPI forbids them: nobody would know any more until
// when buffers are written. They are refused where MPI libraries refuse those of their own. No mpi.h here.
#pragma once

#include "mpi/words/call_result.h"

namespace crossrail::mpi {

// The program calls the function for the request at this address. Done: with an error, and the request stays as it is. Freed may be what is
// over, as in Open MPI, and any under MPICH 5, which lets it go when it ends; and persistent requests.
CallResult refuse_free(Word64 request);
CallResult refuse_cancel(Word64 request);

}  // namespace crossrail::mpi
