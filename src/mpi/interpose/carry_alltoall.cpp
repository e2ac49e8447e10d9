// MPI_Alltoall.

#include "mpi/communicator/communicators.h"
#include "mpi/interpose/alltoall_call.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/statistics/native_reasons.h"
#include "mpi/recording/recorder.h"

namespace crossrail::mpi {
namespace {

void run_alltoall(const CallPlace& place, const AlltoallCall& call, Carried& carried) {
  AlltoallCall::Facts none;
  PackedBuffers packed = call.packed(place.communicator.slot().packing, place.comm, none);
  complete_call(place, run_collective(place.communicator, place.shape, packed), carried);
}

Carried try_to_carry(const Word64* words, bool large_counts) {
  Carried carried;
  if (find_functions() == nullptr) return left(native_because::kNoMpi);
  AlltoallCall call(words, large_counts);
  if (call.left_to_mpi()) return left(native_because::kArguments);
  CommunicatorRecord* record = record_of(call.comm());
  if (const char* const reason = why_never_carried(record); reason != nullptr) return left(reason);
  AlltoallCall::Facts none;
  const Survey found = call.survey(record->communicator->topology.size, none);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  carried.native_because = native_because::kArguments;
  carried.block_bytes = call.block_bytes();
  carried.blocks = static_cast<std::uint64_t>(record->communicator->topology.size);
  if (found.answer != Survey::Answer::carry) return carried;
  const Shape shape = call.shape();
  const CallPlace place{"MPI_Alltoall", call.comm(), *record->communicator, shape};
  if (call.unequal()) {
    refuse_unequal_sides(place, carried);
  } else {
    run_alltoall(place, call, carried);
    if (!carried.done) carry_copies({large_counts ? "MPI_Alltoall_c" : "MPI_Alltoall", words}, call, none, carried);
  }
  return carried;
}

}  // namespace

Carried carry_alltoall(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::alltoall, words, large_counts);
  return noted(try_to_carry(words, large_counts));
}

}  // namespace crossrail::mpi
