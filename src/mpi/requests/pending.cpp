#include "mpi/requests/pending.h"

#include <time.h>

#include <atomic>

#include "base/log.h"
#include "engine/mover.h"
#include "mpi/communicator/open_communicator.h"
#include "mpi/communicator/raised_errors.h"
#include "mpi/library/error_codes.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/polled_requests.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/requests/ended_calls.h"
#include "mpi/requests/nonblocking_request.h"
#include "mpi/observe/traced_calls.h"
#include "mpi/observe/traffic.h"

namespace crossrail::mpi {

PendingCalls& pending_calls() {
  static PendingCalls& calls = *new PendingCalls;  // It outlives every static object.
  return calls;
}

namespace {

int advance() { return finalizing() ? 0 : pending_calls().advance() + advance_copied_calls(); }
bool needed() { return !finalizing() && (pending_calls().any() || any_copied_calls()); }

Mover& mover() {
  static Mover& one = *new Mover(pending_calls(), mover_completes() ? complete_ended : nullptr);  // It outlives every static object.
  return one;
}

// The report appears once.
void tell_of_forgotten_calls() {
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) log_line(LogLevel::error, "MPI_Finalize: nonblocking or persistent collectives have not been completed");
}

// Other ranks may wait for data of calls that the program has not waited for. MPI libraries advance their own such calls in MPI_Finalize. The wait is
// limited, since the other ranks may have left out the calls.
void end_forgotten_calls() {
  if (!pending_calls().any()) return;
  tell_of_forgotten_calls();
  constexpr std::int64_t kLongestNs = 10'000'000'000;
  constexpr timespec kNap{0, 50'000};
  for (const std::int64_t began = now_ns(); pending_calls().any() && now_ns() - began < kLongestNs; (void)nanosleep(&kNap, nullptr)) {
    (void)pending_calls().advance();
    complete_ended();
    let_mpi_progress(handles().comm_self);
  }
}

void finalize_begins_here() {
  if (mover_advances()) mover().stop();
  free_kept_requests();
  if (pending_calls().any() || any_kept()) tell_of_forgotten_calls();
}

}  // namespace

void hook_pending_calls() {
  observe_finalize({end_forgotten_calls, finalize_begins_here});
  hook_progress({advance, needed, finalizing});
}

namespace {

// All ranks ask this before any call of theirs is pending.
bool start_mover() {
  observe_finalize({end_forgotten_calls, finalize_begins_here});
  return mover().is_there();
}
[[maybe_unused]] const bool told_of_mover = (mover_is_there = start_mover, true);

}  // namespace

void start_pending(OurRequest& call) {
  if (!mover_advances()) {
    hook_pending_calls();
    pending_calls().start(call);
    return;
  }
  call.ended = keep_ended;
  pending_calls().start(call);
  mover().watch();
  complete_ended();
}

void fill_status(MPI_Status* status, int source, int tag) {
  (void)pmpi().Status_set_elements(status, handles().byte, 0);
  (void)pmpi().Status_set_cancelled(status, 0);
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
}

void poll_pending(const OurRequest& polled) {
  if (finalizing()) return;
  const bool none = pending_calls().advance() == 0 && !any_kept();
  complete_ended();
  if (none) make_progress(polled);
}

PendingUse::PendingUse(CommunicatorRecord& record, const char* function) : record_(&record), function_(function) { use(record); }

PendingUse::~PendingUse() { release(false); }

void PendingUse::release(bool keeps_record) {
  for (MPI_Datatype& type : types) {
    if (!finalizing()) (void)pmpi().Type_free(&type);
  }
  types.clear();
  if (keeps_record) return;
  if (record_ != nullptr) unuse(*record_);
  record_ = nullptr;
}

void PendingUse::count_for(CallCounter& counter, std::uint64_t block_bytes, int blocks) {
  counter_ = &counter;
  carried_.block_bytes = block_bytes;
  carried_.blocks = static_cast<std::uint64_t>(blocks);
}

trace::Number PendingUse::begins() {
  if (!counting() || counter_ == nullptr) return 0;
  overlap()->begins(entered_ns());
  return traced_ = trace_pending(function_, sizes_);
}

void PendingUse::know_sizes(const TracedSizes& sizes) {
  sizes_ = sizes;
  tell_sizes(traced_, sizes);
}

void PendingUse::ended(const PendingCall& call) {
  carried_.done = true;
  carried_.code = call.code == Code::ok ? MPI_SUCCESS : error_code(call.code, call.what.c_str());
  carried_.algorithm = call.code == Code::ok ? call.carried_by.algorithm : "error";
  note_traffic(call.code == Code::ok ? call.carried_by : PlanSummary{});
  if (call.code != Code::ok) log_line(LogLevel::error, "%s: %s", function_, call.what.c_str());
  if (!counting() || counter_ == nullptr) return;
  counter_->add(carried_, 0);
  overlap()->ends(now_ns());
  trace::tell(traced_, {.algorithm = carried_.algorithm});
  trace::end(traced_);
}

int PendingUse::code(const PendingCall& call) const {
  note_algorithm(carried_.algorithm);
  return call.code == Code::ok ? MPI_SUCCESS : carried_.code;
}

int PendingUse::raise(const PendingCall& call) const {
  const int its = code(call);
  if (its != MPI_SUCCESS) call_error_handler(raises_on(), its);
  return its;
}

}  // namespace crossrail::mpi
