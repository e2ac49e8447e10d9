// This file handles native persistent calls on device memory that MPI knows nothing of (copied_calls.h). Such a call has a persistent request of its
// own for the copies, which starts when the program starts the token that it holds.
#pragma once

#include "mpi/requests/copied_calls.h"
#include "mpi/requests/startable.h"

namespace crossrail::mpi {

// Calls MPI's function for copies of what is in device memory, and stores a token where the program wants its request. The result is not done if
// neither side is in device memory.
CallResult init_on_copies(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides);

// Returns null if the request belongs to none of these calls.
Startable* find_persistent_on_copies(MPI_Request request);
bool any_persistent_on_copies();

}  // namespace crossrail::mpi
