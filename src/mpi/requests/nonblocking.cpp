#include "mpi/requests/nonblocking.h"

#include <atomic>
#include <memory>
#include <optional>

#include "device/device.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/copied_calls.h"
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
    fill_status(status, MPI_UNDEFINED, MPI_UNDEFINED);
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

// What the MPI library carries, which may know nothing of device memory.
template <class Call>
Carried start_natively(Call call, const EntryPoint& entry, const Word64* words) {
  MPI_Request* const request = request_at(words, Call::kWords);
  int ranks = 0;
  if (!device::driver_present() || mpi_takes_device_memory() || call.left_to_mpi() || request == nullptr) return {};
  if (call.comm() == handles().comm_null || pmpi().Comm_size(call.comm(), &ranks) != MPI_SUCCESS) return {};
  typename Call::Facts facts;
  if (call.survey(ranks, facts).answer != Survey::Answer::carry) return {};
  constexpr std::size_t kReceiveWord = (Call::kWords - 1) / 2;  // as many words a side, then the communicator
  const Carried done = start_on_copies(entry.native, words, {call.span_sent(facts), call.span_received(facts), 0, kReceiveWord, Call::kWords});
  if (done.done && counting()) entry.counter->add(Carried{}, 0);
  return done;
}

template <class Call>
Carried start_any(const Call& call, const EntryPoint& entry, const Word64* words) {
  if (!may_be_pending()) return {};
  const Carried carried = start(call, entry, request_at(words, Call::kWords));
  return carried.done ? carried : start_natively(call, entry, words);
}

}  // namespace

Carried start_alltoall(const Word64* words, bool large_counts, CallCounter* counter) {
  return start_any(AlltoallCall(words, large_counts), {"MPI_Ialltoall", counter, large_counts ? "PMPI_Ialltoall_c" : "PMPI_Ialltoall"}, words);
}

Carried start_alltoallv(const Word64* words, bool large_counts, CallCounter* counter) {
  const char* const native = large_counts ? "PMPI_Ialltoallv_c" : "PMPI_Ialltoallv";
  return start_any<VectorCall>(AlltoallvCall(words, large_counts), {"MPI_Ialltoallv", counter, native}, words);
}

Carried start_alltoallw(const Word64* words, bool large_counts, CallCounter* counter) {
  const char* const native = large_counts ? "PMPI_Ialltoallw_c" : "PMPI_Ialltoallw";
  return start_any<VectorCall>(AlltoallwCall(words, large_counts), {"MPI_Ialltoallw", counter, native}, words);
}

}  // namespace crossrail::mpi
