// Persistent calls that go to the MPI library on buffers in device memory of which it knows nothing (copied_calls.h): a persistent
// request of its own for the copies, started when the program starts the token that it has in its hands.
#pragma once

#include "mpi/requests/copied_calls.h"
#include "mpi/requests/startable.h"

namespace crossrail::mpi {

// Calls the MPI library's function for copies of what is in device memory, and puts a token where the program wants its request.
// Not done if no side is there.
CallResult init_on_copies(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides);

// Null: it is of none of these.
Startable* find_persistent_on_copies(MPI_Request request);
bool any_persistent_on_copies();

}  // namespace crossrail::mpi
