// Persistent collectives: planned once, with a slot of their own.
//
// The program holds a genuine persistent request of the MPI library, a receive from itself; a message to itself completes it when the call has
// ended. So whatever completes requests needs no help, and only what starts and frees them is ours.
#pragma once

#include "mpi/observe/entry_point.h"

namespace crossrail::mpi {

// `words`: the arguments of the C function, which end with info and the address of the request. Not done: the MPI library is to get the call.
CallResult init_persistent(EntryPoint& entry, const Word64* words);

// MPI_Start of requests from this address on, some of which may be ours. Not done: none is, and MPI's function follows.
CallResult start_requests(Word64 count, Word64 requests);
// MPI_Request_free of the request at this address is about to be called.
void free_request(Word64 request);

}  // namespace crossrail::mpi
