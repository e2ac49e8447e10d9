#include "mpi/library/polled_requests.h"

#include "mpi/library/pmpi.h"
#include "mpi/library/progress_hook.h"
#include "mpi/library/threads.h"

namespace crossrail::mpi {
namespace {

using ExtendedStart = int (*)(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*, PollFunction*,
                              WaitFunction*, void* state, MPI_Request*);

ExtendedStart extended_start() {
  static const auto found = reinterpret_cast<ExtendedStart>(library_symbol("PMPIX_Grequest_start"));
  return found;
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
