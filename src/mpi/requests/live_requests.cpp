// These functions wait for requests of ours that the program holds.

#include <sched.h>

#include <atomic>

#include "mpi/library/pmpi.h"
#include "mpi/library/polled_requests.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/completion.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/requests/ended_calls.h"
#include "mpi/requests/failures.h"
#include "mpi/requests/pending.h"
#include "mpi/requests/request_table.h"

namespace crossrail::mpi {
namespace {

constexpr int kLooks = 64;
constexpr int kRoundsAProgress = 4;
constexpr std::int64_t kYieldNs = 20'000;
constexpr std::int64_t kMostNs = 200'000;

enum class Seen { nothing, end_told, end };

// Waits until the call has ended or, if `briefly`, until it takes too long. Now and then it lets MPI make progress.
Seen await_call(OurRequest& call, bool briefly) {
  std::int64_t began = 0;
  for (int round = 1; !call.has_ended.load(std::memory_order_acquire); ++round) {
    if (pending_calls().take(call, kLooks)) return Seen::end;
    if (round % kRoundsAProgress != 0) continue;
    make_progress(call);
    const std::int64_t now = now_ns();
    if (began == 0) began = now;
    if (briefly && now - began > kMostNs) return Seen::nothing;
    if (now - began > kYieldNs) sched_yield();
  }
  return Seen::end_told;
}

// In a program that makes only calls of ours, MPI gets a chance to make progress once in so many calls.
constexpr unsigned kCallsATurn = 16;

// If `quickly` leaves the status to be mended, this function mends it.
AfterWait complete_seen(OurRequest& ours, MPI_Request& request, bool quickly) {
  static std::atomic<unsigned> turns{0};
  const unsigned turn = turns.load(std::memory_order_relaxed);
  turns.store(turn + 1, std::memory_order_relaxed);
  if (turn % kCallsATurn == 0) make_progress(ours);
  AfterWait completed = AfterWait::natively;
  if (quickly) {
    completed = ours.complete_in_wait();
  } else {
    ours.complete();
  }
  if (completed == AfterWait::here) request = handles().request_null;
  return completed;
}

}  // namespace

// In MPI_Wait, MPICH 4.0 advances only what is polled. Other ranks may wait for MPI's own collectives, which advance neither there nor in MPI_Iprobe.
// In MPICH 5.0, MPI_Iprobe on MPI_COMM_SELF advances nothing at all.
void make_progress(const OurRequest& pending) {
  if (!mover_advances() && !hooked_into_mpich()) return let_mpi_progress(handles().comm_self);
  int flag = 0;
  static thread_local bool inside = false;  // MPI may poll, and so call this again.
  if (inside) return;
  const struct Inside {
    Inside() { inside = true; }
    ~Inside() { inside = false; }  // The destructor also runs when an operation of the program, which MPI executes meanwhile, throws.
  } here;
  const OwnLook look;
  (void)pmpi().Request_get_status(pending.request, &flag, MPI_STATUS_IGNORE);
}

AfterWait await_ours(MPI_Request* request) {
  OurRequest* const ours = request == nullptr ? nullptr : find_request(*request);
  AfterWait completed = AfterWait::natively;
  if (ours != nullptr && await_call(*ours, true) == Seen::end) completed = complete_seen(*ours, *request, true);
  complete_ended();
  return completed;
}

void advance_before_look() {
  if (!mover_advances()) return;
  (void)pending_calls().advance();
  (void)advance_copied_calls();
  complete_ended();
}

// Without a hook, the thread that has seen the end may have to complete the request, or to let another thread do it.
void await_completed(OurRequest& ours) {
  const bool taken = await_call(ours, false) == Seen::end;
  if (taken) ours.complete();
  const OwnLook look;
  while (!taken) {
    complete_ended();
    int flag = 0;
    if (pmpi().Request_get_status(ours.request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0) return;
    sched_yield();
  }
  complete_ended();
}

void await_all_ours(MPI_Request* requests, int count) {
  if (requests == nullptr || !any_requests()) return;
  // Another thread that has been told of the end may still be about to complete the
  // request, and MPICH's MPI_Waitall must not see a request that has not ended.
  const bool to_the_end = mover_advances() || hooked_into_mpich();
  for (int one = 0; one < count; ++one) {
    OurRequest* const ours = find_request(requests[one]);
    if (ours == nullptr) continue;
    if (to_the_end) {
      await_completed(*ours);
      continue;
    }
    const Seen seen = await_call(*ours, true);
    if (seen == Seen::nothing) return;
    if (seen == Seen::end) (void)complete_seen(*ours, requests[one], ours->persistent() == nullptr);
  }
}

}  // namespace crossrail::mpi
