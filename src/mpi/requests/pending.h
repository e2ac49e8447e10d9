// A call of ours that may be pending, as an MPI request.
#pragma once

#include <string>
#include <vector>

#include "mpi/communicator/communicators.h"
#include "mpi/interpose/carry.h"
#include "mpi/library/flavour.h"
#include "mpi/requests/ended_calls.h"
#include "mpi/statistics/counters.h"

namespace crossrail::mpi {

// All calls of this process that have begun and have not ended.
PendingCalls& pending_calls();
// Begins `call`; from now on the MPI library's progress advances it, or a Mover does.
void start_pending(RequestedCall& call);
// For generalized requests that the MPI library polls. Whatever has ended is completed.
int poll_pending(void* state, MPI_Status* status);

// The request by which the program knows a call that has begun, until it is forgotten.
void remember_request(MPI_Request request, PendingCall& call);
void forget_request(MPI_Request request);
// The program is about to wait for this request, for all of these: first for a short while for those that are
// ours, which is quicker than by way of the MPI library's progress.
void await_ours(const MPI_Request* request);
void await_all_ours(const MPI_Request* requests, int count);
// Returns when the request of a call that a Mover advances is complete, or its call has failed.
void await_completed(MPI_Request request, const PendingCall& call);
// The program is about to ask whether requests are complete, by a function that may not poll them.
void advance_before_look();

// What nonblocking and persistent calls have in common. Keeps the record of the communicator alive.
class PendingUse {
 public:
  PendingUse(CommunicatorRecord& record, const char* function);
  ~PendingUse();
  PendingUse(const PendingUse&) = delete;
  PendingUse& operator=(const PendingUse&) = delete;

  CommunicatorRecord& record() const { return *record_; }
  const char* function() const { return function_; }
  // For statistics: the entry point, and what its blocks hold.
  void count_for(CallCounter* counter, std::uint64_t block_bytes);
  void begins();
  // Notes what `call` came to.
  void ended(const PendingCall& call);
  // The code for the program, whose error handler is called if it is an error. More than once, perhaps.
  int code(const PendingCall& call);
  // Gives back what is MPI's, where that may not wait for the end of this. Not before `code` has been asked for.
  void release();
  // Duplicates of types that the call needs.
  std::vector<MPI_Datatype> types;

 private:
  CommunicatorRecord* record_;  // null once released
  const char* function_;
  CallCounter* counter_ = nullptr;
  Carried carried_;
  std::int64_t began_ns_ = 0;
  bool raised_ = false;
};

}  // namespace crossrail::mpi
