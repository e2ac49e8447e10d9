#include "mpi/requests/completion.h"

#include "mpi/communicator/communicators.h"
#include "mpi/communicator/raised_errors.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/requests/failures.h"
#include "mpi/requests/pending.h"
#include "mpi/requests/request_table.h"

namespace crossrail::mpi {

// A FailedCall is passed to the innermost wrapped function of this thread. It keeps the communicator's record alive and does not depend on the
// request, which MPI frees meanwhile.
struct FailedCall {
  CommunicatorRecord& record;
  int code;
  bool raised;  // An earlier function has raised the error.
  FailedCall* next;

  static void add(Completion& to, OurRequest& request, int code) {
    use(request.use.record());
    to.first_ = new FailedCall{request.use.record(), code, request.use.raised.exchange(true), to.first_};
  }
};

namespace {

thread_local int own_looks = 0;

// A status with this tag belongs to a failed call, and its source is the error code. No message has such a tag.
constexpr int kFailedTag = -0x6a11ed;

// Returns the error code if the status belongs to a failed call.
int mend(MPI_Status& status) {
  if (status.MPI_TAG != kFailedTag) return MPI_SUCCESS;
  const int code = status.MPI_SOURCE;
  status.MPI_SOURCE = MPI_UNDEFINED;
  status.MPI_TAG = MPI_UNDEFINED;
  return code;
}

}  // namespace

OwnLook::OwnLook() { ++own_looks; }
OwnLook::~OwnLook() { --own_looks; }

int tell_end(OurRequest& call, MPI_Status* status) {
  fill_status(status, MPI_UNDEFINED, MPI_UNDEFINED);
  if (own_looks > 0) return MPI_SUCCESS;
  const int code = call.use.code(call);
  if (code == MPI_SUCCESS) return code;
  Completion* const innermost = Completion::innermost(__builtin_frame_address(0));
  if (innermost == nullptr) return code;
  FailedCall::add(*innermost, call, code);
  status->MPI_SOURCE = code;
  status->MPI_TAG = kFailedTag;
  return MPI_SUCCESS;
}

Completion::~Completion() {
  while (first_ != nullptr) {
    const FailedCall* const one = first_;
    first_ = one->next;
    unuse(one->record);
    delete one;
  }
}

void Completion::raise_errors() {
  for (FailedCall* one = first_; one != nullptr; one = one->next) {
    if (!one->raised) call_error_handler(one->record.freed ? handles().comm_self : one->record.comm, one->code);
    one->raised = true;
  }
}

Word64 Completion::of_one(Word64 code, Word64 status) {
  if (first_ == nullptr) return code;
  auto* const its = reinterpret_cast<MPI_Status*>(status);
  if (its != MPI_STATUS_IGNORE) (void)mend(*its);
  const int error = first_->code;
  raise_errors();
  return code == MPI_SUCCESS ? error : code;
}

Word64 Completion::of_several(Word64 code, Word64 statuses, Word64 count) {
  if (first_ == nullptr) return code;
  auto* const all = reinterpret_cast<MPI_Status*>(statuses);
  for (Word64 one = 0; all != MPI_STATUSES_IGNORE && one < count; ++one) {
    const int error = mend(all[one]);
    // If the function has met no errors, it has not set these fields.
    if (error != MPI_SUCCESS || code == MPI_SUCCESS) all[one].MPI_ERROR = error;
  }
  raise_errors();
  return code == MPI_SUCCESS ? Word64{MPI_ERR_IN_STATUS} : code;
}

Word64 Completion::of_some(Word64 code, Word64 statuses, Word64 count_at) {
  if (first_ == nullptr) return code;
  return of_several(code, statuses, *reinterpret_cast<const int*>(count_at));
}

// Without requests of ours, the MPI library of our flavour may not even be loaded.
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

}  // namespace crossrail::mpi
