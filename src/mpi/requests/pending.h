// Nonblocking and persistent calls of ours as MPI requests.
//
// A nonblocking call has a generalized request and a persistent call has a token (tokens.h). Both are genuine requests of the MPI library,
// so whatever completes requests, mixed with the program's own, needs no help from us, unless a call ends with an error (completion.h).
//
// Progress. The MPI library's progress hook advances the calls (library/progress_hook.h). MPI libraries without a hook have a Mover
// instead, which moves data inside one node and calls no MPI: buffers are packed before and unpacked after the call
// (buffers/prepared_buffers.h), and the program's threads complete the requests when the MPI library polls them
// (library/polled_requests.h), except at MPI_THREAD_MULTIPLE, where the Mover may do so itself.
//
// Waits. MPI_Wait and MPI_Waitall are wrapped: for a short while we advance our calls directly and take their ends, which is quicker than
// through the MPI library. MPICH 5.0.2 ends a program whose MPI_Waitall finds generalized requests that are not complete, so there we wait
// for ours to the end first. A nonblocking request whose end a wait has seen is kept for the next call (nonblocking_request.h).
// MPI_Request_free and MPI_Cancel of requests under way are refused (refused_requests.h).
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "engine/pending_calls.h"
#include "mpi/communicator/communicators.h"
#include "mpi/words/call_result.h"
#include "mpi/library/flavour.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/counters.h"
#include "mpi/observe/call_observer.h"

namespace crossrail::mpi {

class OurRequest;

// Returns all calls of this process that have begun and have not ended.
PendingCalls& pending_calls();
// From now on MPI's progress advances pending calls.
void hook_pending_calls();
// Begins `call`. From now on MPI's progress or a Mover advances it.
void start_pending(OurRequest& call);
// MPI polls generalized requests until they are complete. Completes every call that has ended.
void poll_pending(const OurRequest& polled);

// Fills the status of a request of ours that has ended: nothing was received and nothing cancelled.
void fill_status(MPI_Status* status, int source, int tag);

// PendingUse is what nonblocking and persistent calls have in common. It keeps the record of the communicator alive.
class PendingUse {
 public:
  PendingUse(CommunicatorRecord& record, const char* function);
  ~PendingUse();
  PendingUse(const PendingUse&) = delete;
  PendingUse& operator=(const PendingUse&) = delete;

  // Not once the record has been given back (release()).
  CommunicatorRecord& record() const { return *record_; }
  // Where errors of the request are raised: on the call's communicator, or on MPI_COMM_SELF once that has been freed or its record given back.
  MPI_Comm raises_on() const { return record_ == nullptr || record_->freed ? handles().comm_self : record_->comm; }
  const char* function() const { return function_; }
  // Sets what the statistics need: the entry point, the mean size of its blocks, and how many blocks this rank sends.
  void count_for(CallCounter& counter, std::uint64_t block_bytes, int blocks);
  // Returns the call's event in the trace, or 0 if there is none.
  trace::Number begins();
  // Sets the sizes of the call in the trace, also for the event that has begun.
  void know_sizes(const TracedSizes& sizes);
  // It is null if the call is not counted.
  Overlap* overlap() const { return counter_ == nullptr ? nullptr : &counter_->overlap(By::crossrail); }
  // Records how `call` ended, and logs an error.
  void ended(const PendingCall& call);
  // Returns the code for the program. It may be called more than once.
  int code(const PendingCall& call) const;
  // Does the same, and calls the error handler if there was an error.
  int raise(const PendingCall& call) const;
  // Frees what belongs to MPI, for cases that cannot wait for the destructor.
  // The communicator's record stays if its error handler has yet to be called.
  void release(bool keeps_record);
  // The call needs these types, which are ours.
  std::vector<MPI_Datatype> types;
  std::atomic<bool> raised{false};  // The error handler has been called or is about to be.

 private:
  CommunicatorRecord* record_;  // It is null once it has been released.
  const char* function_;
  CallCounter* counter_ = nullptr;
  CallResult carried_;
  TracedSizes sizes_;
  trace::Number traced_ = 0;
};

// AfterWait says what is left to do for a wait that has completed a request.
enum class AfterWait : std::uint8_t {
  natively,  // MPI does what it does for a complete request.
  cancelled,  // MPI does the same, and then the status needs mending.
  here,  // We set the program's handle and status.
};

// An OurRequest is a call of ours whose request the program holds (request_table.h). When the call ends, its request is completed: natively for any
// function that waits for it, or by the wrapped wait that has seen the end.
class OurRequest : public PendingCall {
 public:
  OurRequest(CommunicatorRecord& record, const char* function) : use(record, function) {
    ended = [](PendingCall& call) { static_cast<OurRequest&>(call).complete(); };
  }
  virtual ~OurRequest() = default;

  // The call has ended. It must not be touched once it is complete, because another thread may have freed it.
  virtual void complete() = 0;
  // Does the same in the program's own wait for the request, which may be faster.
  virtual AfterWait complete_in_wait() {
    complete();
    return AfterWait::natively;
  }
  // It is null if MPI_Start does not apply to the request.
  virtual class Persistent* persistent() { return nullptr; }

  OurRequest* next_ended = nullptr;  // It links the calls that are kept (ended_calls.h).
  MPI_Request request = handles().request_null;
  PendingUse use;
};

// The program is about to wait for this request, or for all of these. We first wait for ours for a short while, which is faster than waiting through
// MPI's progress. Requests that are completed here become null.
AfterWait await_ours(MPI_Request* request);
void await_all_ours(MPI_Request* requests, int count);
// Lets MPI advance its own work once while this call has not ended.
void make_progress(const OurRequest& pending);
// Returns when the request of a call that a Mover advances is complete.
void await_completed(OurRequest& ours);
// The program is about to test requests with a function that may not poll them.
void advance_before_look();

}  // namespace crossrail::mpi
