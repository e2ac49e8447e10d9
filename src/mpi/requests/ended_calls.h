// Some pending calls end where MPI may not be called. Threads of the program complete them later.
#pragma once

#include "engine/pending_calls.h"

namespace crossrail::mpi {

// Serves as PendingCall::ended and keeps the call, an OurRequest, for complete_ended.
void keep_ended(PendingCall& call);
// Completes the calls that have been kept. It must be called where MPI may be called.
void complete_ended();
bool any_kept();

}  // namespace crossrail::mpi
