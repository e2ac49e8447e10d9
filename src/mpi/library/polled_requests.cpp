#include "mpi/library/polled_requests.h"

#include <atomic>

#include "mpi/library/pmpi.h"
#include "mpi/library/progress_hook.h"

namespace crossrail::mpi {
namespace {

using ExtendedStart = int (*)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*, PollFunction*,
                              WaitFunction*, void* state, MPI_Request*);

ExtendedStart extended_start() {
  static const auto found = reinterpret_cast<ExtendedStart>(library_symbol("PMPIX_Grequest_start"));
  return found;
}

// Not known in a program that has sessions only, so far.
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

}  // namespace

Advancing who_advances() {
  if (has_progress_hook()) return Advancing::hook;
  return extended_start() != nullptr || all_threads_may_call() ? Advancing::mover : Advancing::nobody;
}

bool mover_completes() { return !has_progress_hook() && all_threads_may_call(); }

int start_request(const RequestFunctions& functions, void* state, MPI_Request* request) {
  const auto& [query, free, cancel, poll, wait] = functions;
  if (!mover_advances() || mover_completes()) return pmpi().Grequest_start(query, free, cancel, state, request);
  return extended_start()(query, free, cancel, poll, wait, state, request);
}

}  // namespace crossrail::mpi
