// MPI_Alltoallv and MPI_Alltoallw.

#include "device/device.h"
#include "mpi/communicator/communicators.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/interpose/vector_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/statistics/counters.h"
#include "mpi/statistics/native_reasons.h"
#include "mpi/recording/recorder.h"

namespace crossrail::mpi {
namespace {

// These return whether the sides are known to make sense.
bool carry_surveyed(const CallPlace& place, VectorCall& call, VectorCall::Facts& facts, Carried& carried) {
  const Topology& topology = place.communicator.topology;
  const Survey found = call.survey(topology.size, facts);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  carried.native_because = native_because::kArguments;
  if (found.answer != Survey::Answer::carry) return false;
  carried.block_bytes = call.block_bytes();
  if (call.unequal(topology.rank, facts)) {
    refuse_unequal_sides(place, carried);
    return true;
  }
  PackedVectors packed = call.packed(place.communicator.slot().packing, place.comm, facts);
  complete_call(place, run_collective(place.communicator, place.shape, packed), carried);
  return true;
}

// Native from the start: mostly there is nothing to know.
bool carry_native(const CallPlace& place, VectorCall& call, VectorCall::Facts& facts, Carried& carried) {
  if (counting()) carried.block_bytes = call.estimated_block_bytes(place.communicator.topology.size);
  complete_call(place, run_collective(place.communicator, VectorCall::kShape, {}), carried);
  if (carried.done || !device::driver_present() || mpi_takes_device_memory()) return false;
  const Survey found = call.survey(place.communicator.topology.size, facts);
  carried.done = found.answer == Survey::Answer::refused;
  carried.code = found.code;
  return found.answer == Survey::Answer::carry;
}

struct Called {
  const char* function;
  const char* large;  // the same with large counts
  const Word64* words;
  bool large_counts;
};

Carried try_to_carry(const Called& called, VectorCall& call) {
  const char* const function = called.function;
  Carried carried;
  if (call.left_to_mpi()) return left(native_because::kArguments);
  CommunicatorRecord* record = record_of(call.comm());
  if (const char* const reason = why_never_carried(record); reason != nullptr) return left(reason);
  Communicator& communicator = *record->communicator;
  carried.blocks = static_cast<std::uint64_t>(communicator.topology.size);
  const CallPlace place{function, call.comm(), communicator, VectorCall::kShape};
  const bool known = already_native(place) ? carry_native(place, call, record->facts, carried) : carry_surveyed(place, call, record->facts, carried);
  if (known && !carried.done) carry_copies({called.large_counts ? called.large : called.function, called.words}, call, record->facts, carried);
  return carried;
}

}  // namespace

Carried carry_alltoallv(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::alltoallv, words, large_counts);
  if (find_functions() == nullptr) return noted(left(native_because::kNoMpi));
  AlltoallvCall call(words, large_counts);
  return noted(try_to_carry({"MPI_Alltoallv", "MPI_Alltoallv_c", words, large_counts}, call));
}

Carried carry_alltoallw(const Word64* words, bool large_counts) {
  note_arguments(RecordedKind::alltoallw, words, large_counts);
  if (find_functions() == nullptr) return noted(left(native_because::kNoMpi));
  AlltoallwCall call(words, large_counts);
  return noted(try_to_carry({"MPI_Alltoallw", "MPI_Alltoallw_c", words, large_counts}, call));
}

}  // namespace crossrail::mpi
