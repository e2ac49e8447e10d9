// Waiting for requests of ours that the program has in its hands.

#include <sched.h>

#include "mpi/library/pmpi.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/pending.h"
#include "mpi/requests/request_table.h"

namespace crossrail::mpi {
namespace {

constexpr int kLooks = 64;
constexpr int kRoundsAProgress = 4;
constexpr std::int64_t kYieldNs = 20'000;
constexpr std::int64_t kMostNs = 200'000;

enum class Seen { nothing, end_told, end };

// Until the call has ended, or, `briefly`, it takes too long. Now and then the MPI library moves what is its own.
Seen await_call(PendingCall& call, bool briefly) {
  std::int64_t began = 0;
  for (int round = 1; !call.has_ended.load(std::memory_order_acquire); ++round) {
    if (pending_calls().take(call, kLooks)) return Seen::end;
    if (round % kRoundsAProgress != 0) continue;
    int flag = 0;
    (void)pmpi().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, handles().comm_self, &flag, MPI_STATUS_IGNORE);
    const std::int64_t now = now_ns();
    if (began == 0) began = now;
    if (briefly && now - began > kMostNs) return Seen::nothing;
    if (now - began > kYieldNs) sched_yield();
  }
  return Seen::end_told;
}

}  // namespace

bool await_ours(const MPI_Request* request) {
  OurRequest* const ours = request == nullptr ? nullptr : find_request(*request);
  return ours != nullptr && await_call(*ours, true) == Seen::end && ours->complete_in_wait();
}

void await_all_ours(const MPI_Request* requests, int count) {
  if (requests == nullptr || !any_requests()) return;
  const bool briefly = !waitall_refuses_generalized_requests();
  for (int one = 0; one < count; ++one) {
    OurRequest* const ours = find_request(requests[one]);
    if (ours == nullptr) continue;
    const Seen seen = await_call(*ours, briefly);
    if (seen == Seen::nothing) return;
    if (seen == Seen::end) ours->complete();
  }
}

void mend_status(MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG);
}

}  // namespace crossrail::mpi
