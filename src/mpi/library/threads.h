// This header says what the program has asked of MPI for its threads.
#pragma once

namespace crossrail::mpi {

// Returns whether MPI runs at MPI_THREAD_MULTIPLE. It may be asked once MPI has been initialized, and is false so far in a program that has
// only sessions.
bool all_threads_may_call();

}  // namespace crossrail::mpi
