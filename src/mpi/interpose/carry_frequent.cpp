// MPI_Allreduce, MPI_Allgather and MPI_Reduce_scatter_block, of which programs make one or two on communicators that they make by the
// dozen: these do not open a communicator before there have been a few.

#include "mpi/communicator/communicators.h"
#include "mpi/communicator/rank_order.h"
#include "mpi/interpose/allreduce_call.h"
#include "mpi/interpose/alltoall_call.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/requests/entry_points.h"
#include "mpi/statistics/native_reasons.h"
#include "mpi/recording/recorder.h"

namespace crossrail::mpi {
namespace {

struct Names {
  const char *function, *native;
};

int ranks_of(const CommunicatorRecord& record) {
  int ranks = 0;
  if (record.opened) return record.communicator->topology.size;
  return pmpi().Comm_size(record.comm, &ranks) == MPI_SUCCESS ? ranks : 0;
}

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

template <class Call>
Carried try_to_carry(Call call, const Names& names, const Word64* words) {
  Carried carried;
  CommunicatorRecord* record = record_for_frequent(call.comm());
  if (call.left_to_mpi()) return left(native_because::kArguments);
  if (record == nullptr) return left(native_because::kNoRecord);
  if (const char* const reason = record->opened ? why_never_carried(record) : nullptr; reason != nullptr) return left(reason);
  typename Call::Facts none;
  const Survey found = call.survey(ranks_of(*record), none);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  carried.native_because = native_because::kArguments;
  if (found.answer != Survey::Answer::carry) return carried;
  carried.block_bytes = call.block_bytes();
  carried.done = false;
  carried.native_because = native_because::kFirstCalls;
  if (record->opened) run(names, call, *record, carried);
  if (!carried.done) carry_copies({names.native, words}, call, none, carried);
  return carried;
}

Carried reduce(const AllreduceCall& call, const Names& names, const Word64* words) {
  const Carried carried = try_to_carry(call, names, words);
  tell_if_not_covered(call.comm(), names.function, carried);
  return noted(carried);
}

}  // namespace

Carried carry_allreduce(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::allreduce, words, large_counts);
  if (find_functions() == nullptr) return noted(left(native_because::kNoMpi));
  return reduce(AllreduceCall(words, large_counts), {"MPI_Allreduce", large_counts ? "MPI_Allreduce_c" : "MPI_Allreduce"}, words);
}

Carried carry_allgather(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::allgather, words, large_counts);
  if (find_functions() == nullptr) return noted(left(native_because::kNoMpi));
  const AlltoallCall call(words, large_counts, Collective::allgather);
  return noted(try_to_carry(call, {"MPI_Allgather", large_counts ? "MPI_Allgather_c" : "MPI_Allgather"}, words));
}

Carried carry_reduce_scatter_block(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::reduce_scatter_block, words, large_counts);
  if (find_functions() == nullptr) return noted(left(native_because::kNoMpi));
  const AllreduceCall call(words, large_counts, Collective::reduce_scatter_block);
  return reduce(call, {"MPI_Reduce_scatter_block", large_counts ? "MPI_Reduce_scatter_block_c" : "MPI_Reduce_scatter_block"}, words);
}

}  // namespace crossrail::mpi
