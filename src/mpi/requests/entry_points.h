// What the entry points of blocking, nonblocking and persistent calls share.
#pragma once

#include "mpi/interpose/allreduce_call.h"
#include "mpi/interpose/alltoall_call.h"
#include "mpi/interpose/vector_call.h"
#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/statistics/native_reasons.h"

namespace crossrail::mpi {

class CallCounter;

struct EntryPoint {
  const char* function;
  CallCounter* counter;
  const char* native = nullptr;  // the MPI library's own, of a nonblocking call
};

// What a survey has found. False: the call is none of ours; done if its error has been raised already.
inline bool is_ours(const Survey& found, Carried& carried) {
  carried.done = found.answer == Survey::Answer::refused;
  carried.code = found.code;
  carried.native_because = native_because::kArguments;
  return found.answer == Survey::Answer::carry;
}

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

// Of a call that the MPI library is to carry: whether it may need copies of what is in device memory. `facts` are what the call spans.
template <class Call>
bool needs_copies(Call& call, typename Call::Facts& facts) {
  int ranks = 0, between_groups = 0;
  if (!device::driver_present() || mpi_takes_device_memory() || call.left_to_mpi()) return false;
  if (call.comm() == handles().comm_null || pmpi().Comm_size(call.comm(), &ranks) != MPI_SUCCESS) return false;
  // Between groups there are as many blocks as the other one has ranks; such calls are the MPI library's, as blocking ones are.
  if (pmpi().Comm_test_inter(call.comm(), &between_groups) != MPI_SUCCESS || between_groups != 0) return false;
  return call.survey(ranks, facts).answer != Survey::Answer::refused;
}

// A blocking call that is the MPI library's for this reason, on copies where it needs them.
template <class Call>
Carried left_on_copies(const char* reason, const NativeCall& native, Call& call, typename Call::Facts& facts) {
  Carried carried = left(reason);
  if (needs_copies(call, facts)) carry_copies(native, call, facts, carried);
  return carried;
}

// The address of the program's request, after so many words.
inline MPI_Request* request_at(const Word64* words, std::size_t number) { return reinterpret_cast<MPI_Request*>(words[number]); }

}  // namespace crossrail::mpi
