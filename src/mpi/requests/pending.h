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

// All calls of this process that have begun and have not ended.
PendingCalls& pending_calls();
// From now on the MPI library's progress advances what is pending.
void hook_pending_calls();
// Begins `call`; from now on the MPI library's progress advances it, or a Mover does.
void start_pending(OurRequest& call);
// For generalized requests that the MPI library polls until they are complete. Whatever has ended is completed.
void poll_pending(const OurRequest& polled);

// Of a request of ours that has ended: nothing received, not cancelled.
void fill_status(MPI_Status* status, int source, int tag);

// What nonblocking and persistent calls have in common. Keeps the record of the communicator alive.
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
  // For statistics: the entry point, what its blocks hold on average, and how many this rank sends.
  void count_for(CallCounter& counter, std::uint64_t block_bytes, int blocks);
  // Its event in the trace; 0: there is none.
  trace::Number begins();
  // What the call is in the trace, also the one that has begun.
  void know_sizes(const TracedSizes& sizes);
  // Null: it is not counted.
  Overlap* overlap() const { return counter_ == nullptr ? nullptr : &counter_->overlap(By::crossrail); }
  // Notes what `call` came to, and logs it if it is an error.
  void ended(const PendingCall& call);
  // The code for the program. More than once, perhaps.
  int code(const PendingCall& call) const;
  // The same, and its error handler is called if it is an error.
  int raise(const PendingCall& call) const;
  // Gives back what is MPI's, where that may not wait for the end of this. The communicator's record stays if its error
  // handler has yet to be called.
  void release(bool keeps_record);
  // Types of ours that the call needs.
  std::vector<MPI_Datatype> types;
  std::atomic<bool> raised{false};  // the error handler has been called, or is about to be

 private:
  CommunicatorRecord* record_;  // null once given back
  const char* function_;
  CallCounter* counter_ = nullptr;
  CallResult carried_;
  TracedSizes sizes_;
  trace::Number traced_ = 0;
};

// What is left to do for a wait that has completed a request.
enum class AfterWait : std::uint8_t {
  natively,  // what the MPI library does when it finds it complete
  cancelled,  // the same, but that its status needs mending
  here,  // to set the program's handle and status
};

// A call of ours whose request the program has in its hands (request_table.h). When the call ends, the request is
// completed: natively, for whatever waits for it, or by the wrapped wait that has seen the end.
class OurRequest : public PendingCall {
 public:
  OurRequest(CommunicatorRecord& record, const char* function) : use(record, function) {
    ended = [](PendingCall& call) { static_cast<OurRequest&>(call).complete(); };
  }
  virtual ~OurRequest() = default;

  // The call has ended. Not touched any more once it is complete: another thread may have freed it.
  virtual void complete() = 0;
  // The same by the program's own wait for the request, which may be quicker.
  virtual AfterWait complete_in_wait() {
    complete();
    return AfterWait::natively;
  }
  // Null: MPI_Start is not for it.
  virtual class Persistent* persistent() { return nullptr; }

  OurRequest* next_ended = nullptr;  // among those kept (ended_calls.h)
  MPI_Request request = handles().request_null;
  PendingUse use;
};

// The program is about to wait for this request, for all of these: first for a short while for those that are
// ours, which is quicker than by way of the MPI library's progress. Those that are completed here become null.
AfterWait await_ours(MPI_Request* request);
void await_all_ours(MPI_Request* requests, int count);
// One round of what the MPI library has to do itself, while this call has not ended.
void make_progress(const OurRequest& pending);
// Returns when the request of a call that a Mover advances is complete.
void await_completed(OurRequest& ours);
// The program is about to ask whether requests are complete, by a function that may not poll them.
void advance_before_look();

}  // namespace crossrail::mpi
