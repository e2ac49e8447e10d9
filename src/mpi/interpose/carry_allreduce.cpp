// MPI_Allreduce.

#include "mpi/communicator/communicators.h"
#include "mpi/interpose/allreduce_call.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"

namespace crossrail::mpi {
namespace {

Carried try_to_carry(const Word64* words, bool large_counts) {
  Carried carried;
  if (find_functions() == nullptr) return carried;
  AllreduceCall call(words, large_counts);
  CommunicatorRecord* record = record_for_reduction(call.comm());
  if (call.left_to_mpi() || record == nullptr) return carried;
  if (record->opened && (record->communicator == nullptr || record->has_nothing_to_do())) return carried;
  AllreduceCall::Facts none;
  const Survey found = call.survey(0, none);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  if (found.answer != Survey::Answer::carry) return carried;
  carried.block_bytes = call.block_bytes();
  const NativeCall native{large_counts ? "MPI_Allreduce_c" : "MPI_Allreduce", words};
  if (!record->opened) {
    carried.done = false;
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

Carried carry_allreduce(const Word64* words, bool large_counts) { return noted(try_to_carry(words, large_counts)); }

}  // namespace crossrail::mpi
