#include "mpi/requests/nonblocking.h"

#include <atomic>
#include <memory>
#include <optional>

#include "mpi/library/pmpi.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/entry_points.h"
#include "mpi/requests/pending.h"
#include "mpi/requests/request_table.h"

namespace crossrail::mpi {
namespace {

// One call, from its start until MPI has forgotten its request.
template <class Call>
struct Nonblocking final : OurRequest {
  Nonblocking(const Call& its_call, CommunicatorRecord& record, const char* function) : OurRequest(record, function), call(its_call) {}
  Call call;
  typename Call::Facts facts;
  std::optional<typename Call::Packed> packed;

  void complete() override {
    use.ended(*this);
    if (request == handles().request_null) {  // MPI has made none
      delete this;
    } else {
      (void)pmpi().Grequest_complete(request);
    }
  }
  static int query(void* state, MPI_Status* status) {
    auto& whole = *static_cast<Nonblocking*>(state);
    (void)pmpi().Status_set_elements(status, handles().byte, 0);
    (void)pmpi().Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return whole.use.code(whole);
  }
  static int free(void* state) {
    forget_request(static_cast<Nonblocking*>(state)->request);
    delete static_cast<Nonblocking*>(state);
    return MPI_SUCCESS;
  }
  // MPI does not allow to cancel a collective.
  static int cancel(void*, int) { return MPI_ERR_REQUEST; }
};

// The call comes first: its blocks are under way while MPI makes the request, without which its end is kept back.
template <class Call>
int begin(std::unique_ptr<Nonblocking<Call>> whole, MPI_Request* request) {
  Nonblocking<Call>& one = *whole.release();  // MPI frees it
  one.may_be_told = false;
  one.use.begins();
  start_pending(one);
  const int code = pmpi().Grequest_start(Nonblocking<Call>::query, Nonblocking<Call>::free, Nonblocking<Call>::cancel, &one, &one.request);
  if (code == MPI_SUCCESS) {
    *request = one.request;
    remember_request(one.request, one);
  }
  one.may_be_told.store(true, std::memory_order_release);
  return code;
}

template <class Call>
Carried start(const Call& arguments, const EntryPoint& entry, MPI_Request* request) {
  Carried carried;
  CommunicatorRecord* const record = record_for_pending(arguments.comm());
  if (record == nullptr || arguments.left_to_mpi() || request == nullptr) return carried;
  Communicator& communicator = *record->communicator;
  auto whole = std::make_unique<Nonblocking<Call>>(arguments, *record, entry.function);
  Call& call = whole->call;
  const Survey found = call.survey(communicator.topology.size, whole->facts);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  if (found.answer != Survey::Answer::carry) return carried;
  if (!can_be_pending(communicator, call.shape())) return {};
  Nonblocking<Call>& pending = *whole;
  pending.slot = communicator.next_pending_slot();
  pending.shape = call.shape();
  pending.messages = communicator.slot().links->messages_open();
  pending.refused = unequal(call, communicator.topology.rank, whole->facts);
  whole->use.count_for(entry.counter, call.block_bytes());
  call.keep_types(whole->facts, whole->use.types);
  whole->packed.emplace(call.packed(*pending.slot, handles().comm_self, whole->facts));
  pending.user = &*whole->packed;
  carried.code = begin(std::move(whole), request);
  return carried;
}

// In a program of sessions only there is no MPI_COMM_SELF, with which waits make progress and types are packed.
bool may_be_pending() {
  static std::atomic<bool> known{false};
  if (known.load(std::memory_order_relaxed)) return true;
  if (find_functions() == nullptr || !has_progress_hook()) return false;
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  known = initialized != 0;
  return known;
}

}  // namespace

Carried start_alltoall(const Word64* words, bool large_counts, CallCounter* counter) {
  if (!may_be_pending()) return {};
  return start(AlltoallCall(words, large_counts), {"MPI_Ialltoall", counter}, request_at(words, AlltoallCall::kWords));
}

Carried start_alltoallv(const Word64* words, bool large_counts, CallCounter* counter) {
  if (!may_be_pending()) return {};
  return start<VectorCall>(AlltoallvCall(words, large_counts), {"MPI_Ialltoallv", counter}, request_at(words, VectorCall::kWords));
}

Carried start_alltoallw(const Word64* words, bool large_counts, CallCounter* counter) {
  if (!may_be_pending()) return {};
  return start<VectorCall>(AlltoallwCall(words, large_counts), {"MPI_Ialltoallw", counter}, request_at(words, VectorCall::kWords));
}

}  // namespace crossrail::mpi
