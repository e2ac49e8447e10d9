// MPI forbids MPI_Request_free of nonblocking collectives and MPI_Cancel of any of ours under way, because the program could no longer know until
// when its buffers are written. We refuse both where MPI libraries refuse them for their own requests. mpi.h must not be included here.
#pragma once

#include "mpi/words/call_result.h"

namespace crossrail::mpi {

// The program calls the function for the request at this address. If the result is done, it is an error, and the request stays as it is. Three kinds
// may be freed: persistent requests, requests whose call is over, as in Open MPI, and all requests under MPICH 5, which releases them when they end.
CallResult refuse_free(Word64 request);
CallResult refuse_cancel(Word64 request);

}  // namespace crossrail::mpi
