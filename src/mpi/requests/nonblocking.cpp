#include "mpi/requests/nonblocking.h"

#include <memory>
#include <optional>

#include "mpi/buffers/prepared_buffers.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/polled_requests.h"
#include "mpi/requests/entry_points.h"
#include "mpi/requests/pending.h"

namespace crossrail::mpi {
namespace {

// One call, from its start until MPI has forgotten its request.
template <class Call>
struct Nonblocking {
  Nonblocking(const Call& its_call, CommunicatorRecord& record, const char* function) : call(its_call), use(record, function) {}
  Call call;
  typename Call::Facts facts;
  PendingUse use;
  PackingMemory memory;  // of a call that is moved where MPI may not be called
  std::optional<typename Call::Packed> packed;
  std::optional<PreparedBuffers> prepared;
  struct Pending : RequestedCall {
    Nonblocking* whole;
  } pending;
  MPI_Request request = handles().request_null;

  // Where the data are: known to the call before it begins.
  void open(Slot& slot) {
    const bool now = mover_advances();
    packed.emplace(call.packed(now ? memory : slot.packing, handles().comm_self, facts));
    pending.user = &*packed;
    if (!now) return;
    prepared.emplace(*packed);
    if (!pending.refused) prepared->prepare();
    pending.user = &*prepared;
  }
  void close() {
    if (pending.code != Code::ok) return;
    const Status closed = prepared->finish();
    if (closed.ok()) return;
    pending.code = closed.code;
    pending.what = closed.what;
  }
  static void complete(RequestedCall& pending) {
    Nonblocking& whole = *static_cast<Pending&>(pending).whole;
    if (whole.prepared) whole.close();
    whole.use.ended(pending);
    if (whole.prepared) {
      // Later MPI may hold a lock that it takes in these, too.
      (void)whole.use.code(pending);
      whole.use.release();
    }
    (void)pmpi().Grequest_complete(whole.request);  // may free `whole`
  }
  static int query(void* state, MPI_Status* status) {
    auto& whole = *static_cast<Nonblocking*>(state);
    (void)pmpi().Status_set_elements(status, handles().byte, 0);
    (void)pmpi().Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return whole.use.code(whole.pending);
  }
  static int free(void* state) {
    forget_request(static_cast<Nonblocking*>(state)->request);
    delete static_cast<Nonblocking*>(state);
    return MPI_SUCCESS;
  }
  static int wait(int count, void** states, double, MPI_Status*) {
    for (int one = 0; one < count; ++one) {
      const auto& whole = *static_cast<Nonblocking*>(states[one]);
      await_completed(whole.request, whole.pending);
    }
    return MPI_SUCCESS;
  }
  // MPI does not allow to cancel a collective.
  static int cancel(void*, int) { return MPI_ERR_REQUEST; }
};

template <class Call>
int begin(std::unique_ptr<Nonblocking<Call>> whole, MPI_Request* request) {
  Nonblocking<Call>& one = *whole;
  using Functions = Nonblocking<Call>;
  const int code = start_request({Functions::query, Functions::free, Functions::cancel, poll_pending, Functions::wait}, &one, &one.request);
  if (code != MPI_SUCCESS) return code;
  *request = one.request;
  remember_request(one.request, one.pending);
  one.use.begins();
  (void)whole.release();  // MPI frees it
  start_pending(one.pending);
  return MPI_SUCCESS;
}

template <class Call>
Carried start(const Call& arguments, const EntryPoint& entry, MPI_Request* request) {
  Carried carried;
  if (arguments.left_to_mpi() || request == nullptr) return carried;
  CommunicatorRecord* const record = record_for_pending(arguments.comm());
  if (record == nullptr) return carried;
  Communicator& communicator = *record->communicator;
  auto whole = std::make_unique<Nonblocking<Call>>(arguments, *record, entry.function);
  Call& call = whole->call;
  const Survey found = call.survey(communicator.topology.size, whole->facts);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  if (found.answer != Survey::Answer::carry) return carried;
  if (!can_be_pending(communicator, call.shape())) return {};
  RequestedCall& pending = whole->pending;
  whole->pending.whole = whole.get();
  pending.slot = communicator.next_pending_slot();
  pending.shape = call.shape();
  pending.messages = pending.slot->links->messages_open();
  pending.refused = unequal(call, communicator.topology.rank, whole->facts);
  pending.complete = Nonblocking<Call>::complete;
  whole->use.count_for(entry.counter, call.block_bytes());
  call.keep_types(whole->facts, whole->use.types);
  whole->open(*pending.slot);
  carried.code = begin(std::move(whole), request);
  return carried;
}

// In a program of sessions only there is no MPI_COMM_SELF, with which waits make progress and types are packed.
bool may_be_pending() {
  if (find_functions() == nullptr) return false;
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  return initialized != 0 && who_advances() != Advancing::nobody;
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
