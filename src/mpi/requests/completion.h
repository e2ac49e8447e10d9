// Completion gives the program the right result of a function that completes requests when calls of ours have ended with an error.
//
// MPI asks a request's query function how its call has ended. If that reports an error, MPI calls the handlers of MPI_COMM_WORLD or MPI_COMM_SELF,
// which have nothing to do with the call, perhaps several times, and while it holds its lock. Inside a wrapped function MPI therefore hears of no
// error: after MPI's function has returned, the handler of the call's communicator is called once, and the wrapped function returns the error. Code
// that completes requests through other names (PMPI_Wait) gets the error from MPI. mpi.h must not be included here.
#pragma once

#include "base/on_stack.h"
#include "mpi/words/call_result.h"

namespace crossrail::mpi {

struct FailedCall;
class OurRequest;

// Each wrapped function has one around MPI's function.
class Completion : public OnStack<Completion> {
 public:
  Completion() = default;
  ~Completion();

  // Returns the code for the program instead of MPI's. It may mend one status, `count` of them, or as many as the int at an address says.
  Word64 of_one(Word64 code, Word64 status);
  Word64 of_several(Word64 code, Word64 statuses, Word64 count);
  Word64 of_some(Word64 code, Word64 statuses, Word64 count_at);

 private:
  friend struct FailedCall;
  void raise_errors();

  FailedCall* first_ = nullptr;
};

// The program is about to call MPI_Wait for the request at this address. MPI's
// function follows, unless the result says to leave it out, and then wait_ended.
struct WaitBegun {
  bool left_out = false;
  bool mend_status = false;
};
WaitBegun wait_begins(Word64 request);
void wait_ended(const WaitBegun& begun, Word64 status);
// The program is about to call MPI_Waitall for the requests at this address.
void waitall_begins(Word64 count, Word64 requests);
// The program is about to test requests. An MPI library without a progress hook may answer
// again and again without looking at the call (MPICH 4.0 in MPI_Request_get_status).
void look_begins();

}  // namespace crossrail::mpi
