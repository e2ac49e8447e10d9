// What a nonblocking call of ours is as an MPI request: a generalized one. A call whose end the program's own wait
// sees leaves its request, active as it is, for the next call: MPI need not make and free one for every call.
#pragma once

#include <atomic>

#include "mpi/requests/pending.h"
#include "mpi/requests/request_table.h"

namespace crossrail::mpi {

// From the call's start until MPI has forgotten its request, or another call has it.
class NonblockingRequest : public OurRequest {
 public:
  using OurRequest::OurRequest;

  // The request for this call, which is about to begin. Returns MPI's code.
  int prepare_request();
  // Gives it to the call, which has begun, and to the program, at this address.
  void open(MPI_Request* request);
  void complete() final;
  AfterWait complete_in_wait() final;

 protected:
  // The call has ended: what is to be done with its buffers where MPI may be called.
  virtual void close() = 0;
  // Whether it is moved where MPI may not be called.
  virtual bool moved() const = 0;

 private:
  struct Functions;  // what MPI calls
  void complete_natively();
  LiveRequest* live_ = nullptr;
  // To be completed, and to be freed by MPI: in MPICH the latter comes first if the program frees an active request.
  std::atomic<int> ways_left_{2};
};

// Gives the requests that are left for calls to come back to MPI, before it ends.
void free_kept_requests();

}  // namespace crossrail::mpi
