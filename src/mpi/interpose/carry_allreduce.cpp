// MPI_Allreduce.

#include "mpi/communicator/communicators.h"
#include "mpi/interpose/allreduce_call.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/statistics/native_reasons.h"
#include "mpi/recording/recorder.h"

namespace crossrail::mpi {
namespace {

Carried try_to_carry(const Word64* words, bool large_counts) {
  Carried carried;
  if (find_functions() == nullptr) return left(native_because::kNoMpi);
  AllreduceCall call(words, large_counts);
  CommunicatorRecord* record = record_for_reduction(call.comm());
  if (call.left_to_mpi()) return left(native_because::kArguments);
  if (record == nullptr) return left(native_because::kNoRecord);
  if (const char* const reason = record->opened ? why_never_carried(record) : nullptr; reason != nullptr) return left(reason);
  AllreduceCall::Facts none;
  const Survey found = call.survey(0, none);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  carried.native_because = native_because::kArguments;
  if (found.answer != Survey::Answer::carry) return carried;
  carried.block_bytes = call.block_bytes();
  const NativeCall native{large_counts ? "MPI_Allreduce_c" : "MPI_Allreduce", words};
  if (!record->opened) {
    carried.done = false;
    carried.native_because = native_because::kFirstCalls;
    carry_copies(native, call, none, carried);
    return carried;
  }
  const Shape shape = call.shape();
  const CallPlace place{"MPI_Allreduce", call.comm(), *record->communicator, shape};
  PackedBuffers packed = call.packed(place.communicator.slot().packing, place.comm, none);
  complete_call(place, run_collective(place.communicator, shape, packed), carried);
  if (!carried.done) carry_copies(native, call, none, carried);
  return carried;
}

}  // namespace

Carried carry_allreduce(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::allreduce, words, large_counts);
  return noted(try_to_carry(words, large_counts));
}

}  // namespace crossrail::mpi
