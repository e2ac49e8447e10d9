// What the program has asked of MPI for its threads.
#pragma once

namespace crossrail::mpi {

// MPI_THREAD_MULTIPLE. Once MPI has been initialised; false, so far, in a program that has sessions only.
bool all_threads_may_call();

}  // namespace crossrail::mpi
