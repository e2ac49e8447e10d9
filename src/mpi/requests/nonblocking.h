// MPI_Ialltoall, MPI_Ialltoallv, MPI_Ialltoallw, MPI_Iallreduce, MPI_Iallgather and MPI_Ireduce_scatter_block as generalized requests: genuine ones, which the program
// completes with whatever it likes, mixed with its own.
#pragma once

#include "mpi/interpose/carry.h"

namespace crossrail::mpi {

class CallCounter;

// The arguments of the C calls: those of the blocking call, then the address of the request. Not done: the
// call is the MPI library's.
Carried start_alltoall(const Word64* words, bool large_counts, CallCounter* counter);
Carried start_alltoallv(const Word64* words, bool large_counts, CallCounter* counter);
Carried start_alltoallw(const Word64* words, bool large_counts, CallCounter* counter);
Carried start_allreduce(const Word64* words, bool large_counts, CallCounter* counter);
Carried start_allgather(const Word64* words, bool large_counts, CallCounter* counter);
Carried start_reduce_scatter_block(const Word64* words, bool large_counts, CallCounter* counter);

}  // namespace crossrail::mpi
