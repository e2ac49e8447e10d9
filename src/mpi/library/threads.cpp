#include "mpi/library/threads.h"

#include <atomic>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

bool all_threads_may_call() {
  enum { unknown, no, yes };
  static std::atomic<int> answer{unknown};
  if (const int known = answer.load(std::memory_order_relaxed); known != unknown) return known == yes;
  int initialized = 0, level = MPI_THREAD_SINGLE;
  (void)pmpi().Initialized(&initialized);
  if (initialized == 0 || pmpi().Query_thread(&level) != MPI_SUCCESS) return false;
  answer.store(level == MPI_THREAD_MULTIPLE ? yes : no, std::memory_order_relaxed);
  return level == MPI_THREAD_MULTIPLE;
}

}  // namespace crossrail::mpi
