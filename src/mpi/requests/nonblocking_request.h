// A NonblockingRequest makes a nonblocking call of ours an MPI request, namely a generalized one. If the program's own wait sees the end of a call,
// the request stays active and serves the next call, so that MPI need not make and free one for every call.
#pragma once

#include <atomic>

#include "mpi/requests/pending.h"
#include "mpi/requests/request_table.h"

namespace crossrail::mpi {

// It exists from the start of the call until MPI has freed its request, or until another call has that request.
class NonblockingRequest : public OurRequest {
 public:
  using OurRequest::OurRequest;

  // Gets the request for this call, which is about to begin. Returns MPI's code.
  int prepare_request();
  // The call has begun: attaches the request to it, and stores the request at the program's address.
  void open(MPI_Request* request);
  void complete() final;
  AfterWait complete_in_wait() final;

 protected:
  // The call has ended: does with its buffers what has to be done where MPI may be called.
  virtual void close() = 0;
  // Returns whether the call advances where MPI may not be called.
  virtual bool moved() const = 0;

 private:
  struct Functions;  // MPI calls these.
  void complete_natively();
  LiveRequest* live_ = nullptr;
  // The object is deleted when it has been completed and MPI has freed it. In MPICH the latter comes first if the program frees an active request.
  std::atomic<int> ways_left_{2};
};

// Returns the requests that are kept for later calls to MPI before MPI is finalized.
void free_kept_requests();

}  // namespace crossrail::mpi
