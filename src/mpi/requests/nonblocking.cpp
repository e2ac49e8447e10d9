#include "mpi/requests/nonblocking.h"

#include <atomic>
#include <memory>
#include <optional>

#include "device/device.h"
#include "mpi/buffers/prepared_buffers.h"
#include "mpi/communicator/rank_order.h"
#include "mpi/interpose/worth_opening.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/polled_requests.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/recording/recorder.h"
#include "mpi/requests/entry_points.h"
#include "mpi/requests/nonblocking_request.h"
#include "mpi/statistics/native_reasons.h"

namespace crossrail::mpi {
namespace {

template <class Call>
struct Nonblocking final : NonblockingRequest {
  Nonblocking(const Call& its_call, CommunicatorRecord& record, const char* function)
      : NonblockingRequest(record, function), call(its_call) {}
  Call call;
  typename Call::Facts facts;
  PackingMemory memory;  // of a call that is moved where MPI may not be called
  std::optional<typename Call::Packed> packed;
  std::optional<PreparedBuffers> prepared;

  // Where the data are: known to the call before it begins.
  void find_buffers() {
    const bool now = mover_advances();
    packed.emplace(call.packed(now ? memory : slot->packing, handles().comm_self, facts));
    user = &*packed;
    if (!now) return;
    prepared.emplace(*packed);
    if (!refused) prepared->prepare();
    user = &*prepared;
  }

 protected:
  void close() override {
    if (!prepared || code != Code::ok) return;
    const Status closed = prepared->finish();
    if (closed.ok()) return;
    code = closed.code;
    what = closed.what;
  }
  bool moved() const override { return prepared.has_value(); }
};

// The request comes first: where MPI has none, the call must not begin, and the other ranks hear of it. Mostly it is one of an earlier call.
template <class Call>
int begin(std::unique_ptr<Nonblocking<Call>> whole, MPI_Request* request) {
  Nonblocking<Call>& one = *whole;
  if (const int code = one.prepare_request(); code != MPI_SUCCESS) {
    withdraw(*one.slot, one.shape, Code::system);
    return code;
  }
  (void)whole.release();  // MPI frees it, or the program's wait
  one.may_be_told = false;
  one.traced = one.use.begins();
  start_pending(one);
  one.open(request);
  one.may_be_told.store(true, std::memory_order_release);
  return MPI_SUCCESS;
}

// On a communicator that is not open: it may be afterwards. False: the call is not ours, whatever it is.
template <class Call>
bool survey_first(CommunicatorRecord& record, Call call, Carried& carried) {
  typename Call::Facts facts;
  const int ranks = ranks_of(record);
  if (!is_ours(call.survey(ranks, facts), carried)) return false;
  if (!moves_nothing(call.shape())) count_nonblocking(record, worth_opening(call, facts, ranks));
  return true;
}

template <class Call>
Carried start(const Call& arguments, const EntryPoint& entry, MPI_Request* request) {
  Carried carried;
  CommunicatorRecord* const record = record_for_call(arguments.comm());
  if (record == nullptr) return left(native_because::kNothingPending);
  if (arguments.left_to_mpi() || request == nullptr) return left(native_because::kArguments);
  if (!record->opened && !survey_first(*record, arguments, carried)) return carried;
  if (!can_have_pending_calls(*record)) return left(native_because::kNothingPending);
  Communicator& communicator = *record->communicator;
  auto whole = std::make_unique<Nonblocking<Call>>(arguments, *record, entry.function);
  Call& call = whole->call;
  if (!is_ours(call.survey(communicator.topology.size, whole->facts), carried)) return carried;
  if (!can_be_pending(communicator, call.shape())) return left(native_because::kNoRowFits);
  Nonblocking<Call>& pending = *whole;
  pending.slot = communicator.next_pending_slot();
  pending.shape = call.shape();
  pending.messages = pending.slot->links->messages_open();
  pending.refused = unequal(call, communicator.topology.rank, whole->facts);
  whole->use.count_for(entry.counter, call.block_bytes(), blocks_sent(call, communicator.topology.size));
  call.keep_types(whole->facts, whole->use.types);
  whole->find_buffers();
  carried.done = true;
  carried.code = begin(std::move(whole), request);
  return carried;
}

// In a program of sessions only there is no MPI_COMM_SELF, with which waits make progress and types are packed. MPI_Finalize first deletes
// attributes, whose functions may call MPI, when nothing advances calls any longer.
bool may_be_pending() {
  if (finalizing()) return false;
  // As on all ranks: who advances calls, which threads' levels decide, is told when the communicator opens.
  static std::atomic<bool> known{false};
  if (known.load(std::memory_order_relaxed)) return true;
  if (find_functions() == nullptr) return false;
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  known = initialized != 0;
  return known;
}

// What the MPI library carries, which may know nothing of device memory.
template <class Call>
Carried start_natively(Call call, const EntryPoint& entry, const Word64* words) {
  typename Call::Facts facts;
  if (request_at(words, Call::kWords) == nullptr || who_advances() == Advancing::nobody || !needs_copies(call, facts)) return {};
  return start_on_copies(entry.native, words, sides_of(call, facts, Call::kWords));
}

template <class Call>
Carried start_any(const Call& call, const EntryPoint& entry, const Word64* words) {
  begin_call(CallRuns::once);
  if (!may_be_pending()) return left(native_because::kNoRecord);
  const Carried carried = start(call, entry, request_at(words, Call::kWords));
  if (carried.done) return carried;
  const Carried copied = start_natively(call, entry, words);
  return copied.done ? copied : carried;
}

Carried start_reduction(const AllreduceCall& call, const EntryPoint& entry, const Word64* words) {
  const Carried carried = start_any(call, entry, words);
  if ((!carried.done || carried.on_copies) && find_functions() != nullptr) tell_if_not_covered(call.comm(), entry.function, carried);
  return carried;
}

}  // namespace

Carried start_alltoall(const Word64* words, bool large_counts, CallCounter* counter) {
  note_arguments(RecordedKind::alltoall, words, large_counts);
  return start_any(AlltoallCall(words, large_counts), {"MPI_Ialltoall", counter, large_counts ? "PMPI_Ialltoall_c" : "PMPI_Ialltoall"}, words);
}

Carried start_alltoallv(const Word64* words, bool large_counts, CallCounter* counter) {
  note_arguments(RecordedKind::alltoallv, words, large_counts);
  const char* const native = large_counts ? "PMPI_Ialltoallv_c" : "PMPI_Ialltoallv";
  return start_any<VectorCall>(AlltoallvCall(words, large_counts), {"MPI_Ialltoallv", counter, native}, words);
}

Carried start_alltoallw(const Word64* words, bool large_counts, CallCounter* counter) {
  note_arguments(RecordedKind::alltoallw, words, large_counts);
  const char* const native = large_counts ? "PMPI_Ialltoallw_c" : "PMPI_Ialltoallw";
  return start_any<VectorCall>(AlltoallwCall(words, large_counts), {"MPI_Ialltoallw", counter, native}, words);
}

Carried start_allreduce(const Word64* words, bool large_counts, CallCounter* counter) {
  note_arguments(RecordedKind::allreduce, words, large_counts);
  const char* const native = large_counts ? "PMPI_Iallreduce_c" : "PMPI_Iallreduce";
  return start_reduction(AllreduceCall(words, large_counts), {"MPI_Iallreduce", counter, native}, words);
}

Carried start_allgather(const Word64* words, bool large_counts, CallCounter* counter) {
  note_arguments(RecordedKind::allgather, words, large_counts);
  const char* const native = large_counts ? "PMPI_Iallgather_c" : "PMPI_Iallgather";
  return start_any(AlltoallCall(words, large_counts, Collective::allgather), {"MPI_Iallgather", counter, native}, words);
}

Carried start_reduce_scatter_block(const Word64* words, bool large_counts, CallCounter* counter) {
  note_arguments(RecordedKind::reduce_scatter_block, words, large_counts);
  const char* const native = large_counts ? "PMPI_Ireduce_scatter_block_c" : "PMPI_Ireduce_scatter_block";
  return start_reduction(AllreduceCall(words, large_counts, Collective::reduce_scatter_block), {"MPI_Ireduce_scatter_block", counter, native}, words);
}

}  // namespace crossrail::mpi
