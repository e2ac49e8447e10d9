// MPI_Alltoall_init, MPI_Alltoallv_init, MPI_Alltoallw_init, MPI_Allreduce_init, MPI_Allgather_init and MPI_Reduce_scatter_block_init: planned once, with a slot of their own.
//
// The program holds a genuine persistent request of the MPI library, a receive from itself; a message to itself
// completes it when the call has ended. So whatever completes requests needs no help; only what starts
// and frees them is ours.
#pragma once

#include "mpi/interpose/carry.h"

namespace crossrail::mpi {

class CallCounter;

// The arguments of the C calls: those of the blocking call, info, the address of the request. Not done: the
// call is the MPI library's.
Carried init_alltoall(const Word64* words, bool large_counts, CallCounter* counter);
Carried init_alltoallv(const Word64* words, bool large_counts, CallCounter* counter);
Carried init_alltoallw(const Word64* words, bool large_counts, CallCounter* counter);
Carried init_allreduce(const Word64* words, bool large_counts, CallCounter* counter);
Carried init_allgather(const Word64* words, bool large_counts, CallCounter* counter);
Carried init_reduce_scatter_block(const Word64* words, bool large_counts, CallCounter* counter);

// MPI_Start of requests from this address on, which may be ours: theirs follows, or has taken place where
// `done`. MPI_Request_free, before it.
Carried start_requests(Word64 count, Word64 requests);
void free_request(Word64 request);

}  // namespace crossrail::mpi
