// Pending calls that have ended where MPI may not be called: they are completed by threads of the program.
#pragma once

#include "engine/pending_calls.h"

namespace crossrail::mpi {

// A pending call that the program knows by a request.
struct RequestedCall : PendingCall {
  // Completes the request, and may free this. Called once, after the call has ended, where MPI may be called.
  void (*complete)(RequestedCall&) = nullptr;
  RequestedCall* next_ended = nullptr;
};

// For PendingCall::ended: keeps the RequestedCall for complete_ended.
void keep_ended(PendingCall& call);
// Completes those that have been kept.
void complete_ended();
bool any_kept();

}  // namespace crossrail::mpi
