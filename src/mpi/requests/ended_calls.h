// Pending calls that have ended where MPI may not be called: they are completed by threads of the program.
#pragma once

#include "engine/pending_calls.h"

namespace crossrail::mpi {

// For PendingCall::ended: keeps the call, an OurRequest, for complete_ended.
void keep_ended(PendingCall& call);
// Completes those that have been kept. Where MPI may be called.
void complete_ended();
bool any_kept();

}  // namespace crossrail::mpi
