// What the entry points of nonblocking and persistent calls share.
#pragma once

#include "mpi/interpose/allreduce_call.h"
#include "mpi/interpose/alltoall_call.h"
#include "mpi/interpose/vector_call.h"

namespace crossrail::mpi {

class CallCounter;

struct EntryPoint {
  const char* function;
  CallCounter* counter;
  const char* native = nullptr;  // the MPI library's own, of a nonblocking call
};

// How many blocks a rank sends, for statistics.
inline int blocks_sent(const AllreduceCall&, int) { return 1; }
template <class Call>
int blocks_sent(const Call&, int ranks) { return ranks; }

// Whether the two sides of this rank differ in size.
inline bool unequal(const AlltoallCall& call, int, const AlltoallCall::Facts&) { return call.unequal(); }
inline bool unequal(const AllreduceCall&, int, const AllreduceCall::Facts&) { return false; }
inline bool unequal(const VectorCall& call, int rank, const VectorCall::Facts& facts) { return call.unequal(rank, facts); }

// The address of the program's request, after so many words.
inline MPI_Request* request_at(const Word64* words, std::size_t number) { return reinterpret_cast<MPI_Request*>(words[number]); }

}  // namespace crossrail::mpi
