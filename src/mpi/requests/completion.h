// What the program gets from a function that completes requests, where calls of ours have ended in an error.
//
// The MPI library asks a request's query function how its call has ended. Of an error it would call handlers of
// MPI_COMM_WORLD or MPI_COMM_SELF, which have nothing to do with the call, several times perhaps, and within its lock.
// In a wrapped function it therefore hears of none: when it has returned, the handler of the call's communicator is
// called, once, and the function gives the error. What completes requests by other names (PMPI_Wait) gets the error
// by way of the MPI library. No mpi.h here.
#pragma once

#include "base/on_stack.h"
#include "mpi/words/call_result.h"

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

// The program is about to call MPI_Wait for the request at this address. MPI's function follows, unless it is to be left out, then wait_ended.
struct WaitBegun {
  bool left_out = false;
  bool mend_status = false;
};
WaitBegun wait_begins(Word64 request);
void wait_ended(const WaitBegun& begun, Word64 status);
// The program is about to call MPI_Waitall for the requests at this address.
void waitall_begins(Word64 count, Word64 requests);
// The program is about to ask whether requests are complete. Without a hook in its progress the MPI library may answer without a look at the
// call (MPICH 4.0 in MPI_Request_get_status), again and again.
void look_begins();

}  // namespace crossrail::mpi
