// What the program gets from a function that completes requests, where calls of ours have ended in an error.
//
// The MPI library asks a request's query function how its call has ended. Of an error it would call handlers of
// MPI_COMM_WORLD or MPI_COMM_SELF, which have nothing to do with the call, several times perhaps, and within its lock.
// In a wrapped function it therefore hears of none: when it has returned, the handler of the call's communicator is
// called, once, and the function gives the error. What completes requests by other names (PMPI_Wait) gets the error
// by way of the MPI library. No mpi.h here, as in carry.h.
#pragma once

#include "base/on_stack.h"
#include "mpi/interpose/carry.h"

namespace crossrail::mpi {

struct FailedCall;
class OurRequest;

// In each wrapped function, around the MPI library's.
class Completion : public OnStack<Completion> {
 public:
  Completion() = default;
  ~Completion();

  // The code for the program instead of the MPI library's, with one status, `count` of them, or as many as the int at
  // this address says.
  Word64 of_one(Word64 code, Word64 status);
  Word64 of_several(Word64 code, Word64 statuses, Word64 count);
  Word64 of_some(Word64 code, Word64 statuses, Word64 count_at);

 private:
  friend struct FailedCall;
  void raise_errors();

  FailedCall* first_ = nullptr;
};

}  // namespace crossrail::mpi
