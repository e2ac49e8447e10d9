#include "mpi/interpose/carry.h"

#include "base/log.h"
#include "mpi/library/error_codes.h"
#include "mpi/library/pmpi.h"
#include "mpi/communicator/communicators.h"
#include "mpi/communicator/opening.h"
#include "mpi/interpose/arguments.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/requests/pending.h"
#include "mpi/requests/request_table.h"
#include "mpi/statistics/counters.h"
#include "mpi/statistics/native_reasons.h"
#include "mpi/statistics/report_file.h"
#include "mpi/statistics/traffic.h"

namespace crossrail::mpi {

namespace {

// What the program gets as the code.
int logged(const char* function, const Status& status) {
  log_line(LogLevel::error, "%s: %s", function, status.what);
  return error_code(status.code, status.what);
}

thread_local const char* last_algorithm_of_thread = "native";

// Why the engine has left this call, whose plan it was, to the MPI library.
const char* why_native(const CallPlace& place, const Plan& plan) {
  if (place.communicator.broken) return native_because::kBroken;
  const Plan* const known = place.communicator.slot().plans.find(place.shape);
  if (known != nullptr && !known->native()) return place.communicator.guard.timing() ? native_because::kCompared : native_because::kMeasured;
  return (known == nullptr ? plan : *known).fallback ? native_because::kNoRowFits : native_because::kWanted;
}

}  // namespace

void call_error_handler(MPI_Comm comm, int code) {
  write_report_now();
  (void)pmpi().Comm_call_errhandler(comm, code);
}

int raise(const Failed& call, const Status& status) {
  const int code = logged(call.function, status);
  call_error_handler(call.comm, code);
  return code;
}

void fail(const Failed& call, const Status& status, Carried& carried) {
  carried.done = true;
  carried.algorithm = "error";
  carried.code = logged(call.function, status);
  carried.to_be_raised = true;
  carried.raised_on = word_of(call.comm);
}

int raise_of_class(const Failed& call, int error_class, const char* what) {
  log_line(LogLevel::error, "%s: %s", call.function, what);
  const int code = error_code_of_class(error_class, what);
  call_error_handler(call.comm, code);
  return code;
}

void raise_error(const Carried& carried) {
  if (carried.to_be_raised) call_error_handler(handle_from<MPI_Comm>(carried.raised_on), carried.code);
}

bool already_native(const CallPlace& place) {
  if (place.communicator.broken) return true;
  const Plan* known = place.communicator.slot().plans.find(place.shape);
  return known != nullptr && known->native();
}

void refuse_unequal_sides(const CallPlace& place, Carried& carried) {
  withdraw(place.communicator.slot(), place.shape, Code::mismatch);
  fail({place.function, place.comm}, failed(Code::mismatch, "the send and the receive side of this rank differ in size"), carried);
}

void complete_call(const CallPlace& place, const Outcome& outcome, Carried& carried) {
  note_traffic(outcome.status.ok() ? outcome.plan : nullptr);
  SpeedGuard& guard = place.communicator.guard;
  carried.timed = guard.timing() ? &guard : nullptr;
  if (!outcome.status.ok()) {
    fail({place.function, place.comm}, outcome.status, carried);
    return;
  }
  carried.done = !outcome.plan->native();
  if (!carried.done && (counting() || place.communicator.topology.rank_order)) carried.native_because = why_native(place, *outcome.plan);
  carried.algorithm = outcome.plan->algorithm;
  carried.code = MPI_SUCCESS;
}

Carried noted(const Carried& carried) {
  last_algorithm_of_thread = carried.algorithm;
  return carried;
}

void finalize_begins() {
  if (find_functions() == nullptr) return;
  ask_world();
  begin_finalize();
}

void blocking_collective(Word64 comm) {
  if (find_functions() != nullptr) open_if_wanted(handle_from<MPI_Comm>(comm));
}

// Without requests of ours there may be no MPI library of our flavour.
WaitBegun wait_begins(Word64 request) {
  if (!any_requests()) return {};
  const AfterWait completed = await_ours(reinterpret_cast<MPI_Request*>(request));
  return {completed == AfterWait::here, completed != AfterWait::natively};
}

void wait_ended(const WaitBegun& begun, Word64 word) {
  auto* const status = reinterpret_cast<MPI_Status*>(word);
  if (begun.mend_status && status != MPI_STATUS_IGNORE) fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG);
}

void waitall_begins(Word64 count, Word64 requests) {
  if (any_requests()) await_all_ours(reinterpret_cast<MPI_Request*>(requests), static_cast<int>(count));
  if (any_copied_calls()) await_copied_calls(reinterpret_cast<const MPI_Request*>(requests), static_cast<int>(count));
}

void look_begins() {
  if (any_requests() || any_copied_calls()) advance_before_look();
}

const char* last_algorithm() { return last_algorithm_of_thread; }

}  // namespace crossrail::mpi
