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
inline int blocks_sent(const VectorCall&, int ranks) { return ranks; }
template <class Call>
int blocks_sent(const Call& call, int ranks) {
  return call.blocks_sent(ranks);
}

// Whether the two sides of this rank differ in size.
inline bool unequal(const VectorCall& call, int rank, const VectorCall::Facts& facts) { return call.unequal(rank, facts); }
template <class Call>
bool unequal(const Call& call, int, const typename Call::Facts&) {
  return call.unequal();
}

// The address of the program's request, after so many words.
inline MPI_Request* request_at(const Word64* words, std::size_t number) { return reinterpret_cast<MPI_Request*>(words[number]); }

}  // namespace crossrail::mpi
