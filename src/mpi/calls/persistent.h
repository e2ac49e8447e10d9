// Persistent collectives are planned once, on a slot of their own.
//
// MPI_*_init opens the communicator if need be and then, with all ranks, a slot with a segment of its own. Init calls are collective and
// may wait, so the plan is made here, and whether the call is one on device memory is decided here once and for all (plan_ahead). If the
// plan is native, MPI's own function follows; if this rank has device memory that MPI cannot read, it gets copies
// (requests/persistent_copies.h), unless some algorithm of ours can have the call.
//
// The program holds a token, a genuine persistent request of the MPI library that completes when the call has ended (requests/tokens.h). So
// only MPI_Start, MPI_Startall and MPI_Request_free need to know about our calls. MPI_Start starts the token first: if MPI refuses, the
// call does not begin, and the other ranks hear of it. A request that is freed while its call is active lives until the call has ended.
#pragma once

#include "mpi/observe/entry_point.h"

namespace crossrail::mpi {

// `words` are the arguments of the C function, which end with the info and the address of the request. If the result is not done, MPI is to
// get the call.
CallResult init_persistent(EntryPoint& entry, const Word64* words);

// Starts `count` requests at this address, some of which may be ours. If none is, the result is not done, and MPI's function follows.
CallResult start_requests(Word64 count, Word64 requests);
// MPI_Request_free is about to be called for the request at this address.
void free_request(Word64 request);

}  // namespace crossrail::mpi
