// MPI_Alltoall, MPI_Allreduce, MPI_Allgather and MPI_Reduce_scatter_block: blocks of one length.

#include "mpi/communicator/rank_order.h"
#include "mpi/interpose/allreduce_call.h"
#include "mpi/interpose/alltoall_call.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/interpose/worth_opening.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/statistics/native_reasons.h"
#include "mpi/recording/recorder.h"

namespace crossrail::mpi {
namespace {

struct Names {
  const char *function, *native;
};

template <class Call>
void run(const Names& names, const Call& call, CommunicatorRecord& record, Carried& carried) {
  typename Call::Facts none;
  const Shape shape = call.shape();
  const CallPlace place{names.function, call.comm(), *record.communicator, shape};
  carried.blocks = static_cast<std::uint64_t>(call.blocks_sent(record.communicator->topology.size));
  if (call.unequal()) return refuse_unequal_sides(place, carried);
  PackedBuffers packed = call.packed(place.communicator.slot().packing, place.comm, none);
  complete_call(place, run_collective(place.communicator, shape, packed), carried);
}

// Ranks that have one of MPI's operations in this call, which is wrong, would wait for this one for ever. Of nothing MPI libraries reduce nothing,
// whatever the operation.
void say_if_own_operation(const AllreduceCall& call, CommunicatorRecord& record, Carried& carried) {
  if (!record.opened || !call.has_own_operation() || call.block_bytes() == 0) return;
  ControlBlock* const control = record.communicator->slot().control.get();
  if (control == nullptr) return;
  control->leave_call();
  use(record);  // until the call ends, in which an error handler may free the communicator
  carried.left_on = &record;
}
void say_if_own_operation(const AlltoallCall&, CommunicatorRecord&, Carried&) {}

// False: the call is done. Else it is the MPI library's, and the call has been surveyed.
template <class Call>
bool look_at(Call& call, typename Call::Facts& none, const Names& names, CommunicatorRecord& record, Carried& carried) {
  const InTurn turn(&record.turn);
  if (!is_ours(call.survey(ranks_of(record), none), carried)) {
    if (!carried.done) say_if_own_operation(call, record, carried);
    return !carried.done;
  }
  if (!record.opened) count_blocking(record, call, none);
  if (const char* const reason = why_never_carried(&record); reason != nullptr) {
    carried.native_because = reason;
    return true;
  }
  carried.block_bytes = call.block_bytes();
  if (record.opened) run(names, call, record, carried);
  else leave_first_call(record, carried);
  return !carried.done;
}

template <class Call>
Carried try_to_carry(Call call, const Names& names, const Word64* words) {
  begin_call(CallRuns::once);
  Carried carried;
  typename Call::Facts none;
  CommunicatorRecord* const record = record_for_call(call.comm());
  if (call.left_to_mpi()) return left(native_because::kArguments);
  const NativeCall native{names.native, words};
  if (const char* const reason = why_never_carried(record); reason != nullptr) return left_on_copies(reason, native, call, none);
  if (look_at(call, none, names, *record, carried)) carry_copies(native, call, none, carried);
  return carried;
}

Carried exchange(Collective collective, const Names& names, const Word64* words, bool large_counts) {
  return noted(try_to_carry(AlltoallCall(words, large_counts, collective), names, words));
}

Carried reduce(Collective collective, const Names& names, const Word64* words, bool large_counts) {
  const AllreduceCall call(words, large_counts, collective);
  const Carried carried = try_to_carry(call, names, words);
  tell_if_not_covered(call.comm(), names.function, carried);
  return noted(carried);
}

}  // namespace

// What MPI has refused, it may have on this rank only.
void left_call_ended(CommunicatorRecord& record, bool well) {
  if (!well) {
    const InTurn turn(&record.turn);
    record.communicator->slot().control->take_back();
  }
  unuse(record);
}

Carried carry_alltoall(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::alltoall, words, large_counts);
  if (find_functions() == nullptr) return noted(left(native_because::kNoMpi));
  return exchange(Collective::alltoall, {"MPI_Alltoall", large_counts ? "MPI_Alltoall_c" : "MPI_Alltoall"}, words, large_counts);
}

Carried carry_allreduce(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::allreduce, words, large_counts);
  if (find_functions() == nullptr) return noted(left(native_because::kNoMpi));
  return reduce(Collective::allreduce, {"MPI_Allreduce", large_counts ? "MPI_Allreduce_c" : "MPI_Allreduce"}, words, large_counts);
}

Carried carry_allgather(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::allgather, words, large_counts);
  if (find_functions() == nullptr) return noted(left(native_because::kNoMpi));
  return exchange(Collective::allgather, {"MPI_Allgather", large_counts ? "MPI_Allgather_c" : "MPI_Allgather"}, words, large_counts);
}

Carried carry_reduce_scatter_block(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::reduce_scatter_block, words, large_counts);
  if (find_functions() == nullptr) return noted(left(native_because::kNoMpi));
  const Names names{"MPI_Reduce_scatter_block", large_counts ? "MPI_Reduce_scatter_block_c" : "MPI_Reduce_scatter_block"};
  return reduce(Collective::reduce_scatter_block, names, words, large_counts);
}

}  // namespace crossrail::mpi
