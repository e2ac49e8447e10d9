// These functions run jobs that need more stack than the program may have left. MPICH's reductions, which opening a communicator makes,
// take 150 KiB, and a thread that only calls MPI_Alltoall can do with 16.
#pragma once

#include <cstddef>

namespace crossrail {

// Runs job(argument), which must not throw. It runs on the caller's stack or, if that is not known to have so many bytes left, on one of
// its own.
void run_with_room(std::size_t bytes, void (*job)(void*), void* argument);

// Runs anything that can be called without arguments.
template <class Job>
void run_with_room(std::size_t bytes, Job& job) {
  run_with_room(bytes, [](void* argument) { (*static_cast<Job*>(argument))(); }, &job);
}

}  // namespace crossrail
