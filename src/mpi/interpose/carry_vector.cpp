// MPI_Alltoallv and MPI_Alltoallw.

#include "device/device.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/interpose/worth_opening.h"
#include "mpi/interpose/vector_call.h"
#include "mpi/library/library.h"
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
  if (!is_ours(call.survey(topology.size, facts), carried)) return false;
  carried.block_bytes = call.block_bytes();
  if (call.unequal(topology.rank, facts)) {
    refuse_unequal_sides(place, carried);
    return true;
  }
  PackedVectors packed = call.packed(place.communicator.slot().packing, place.comm, facts);
  complete_call(place, run_collective(place.communicator, place.shape, packed), carried);
  return true;
}

// The MPI library's, which may know nothing of device memory; mostly there is nothing else to find out.
bool survey_for_copies(int ranks, VectorCall& call, VectorCall::Facts& facts, Carried& carried) {
  if (!device::driver_present() || mpi_takes_device_memory()) return false;
  const Survey found = call.survey(ranks, facts);
  carried.done = found.answer == Survey::Answer::refused;
  carried.code = found.code;
  return found.answer == Survey::Answer::carry;
}

bool carry_native(const CallPlace& place, VectorCall& call, VectorCall::Facts& facts, Carried& carried) {
  const int ranks = place.communicator.topology.size;
  if (counting()) carried.block_bytes = call.estimated_block_bytes(ranks);
  complete_call(place, run_collective(place.communicator, VectorCall::kShape, {}), carried);
  return !carried.done && survey_for_copies(ranks, call, facts, carried);
}

// On a communicator that is not open: it may be afterwards.
bool survey_first(CommunicatorRecord& record, VectorCall& call, Carried& carried) {
  const int ranks = ranks_of(record);
  if (!is_ours(call.survey(ranks, record.facts), carried)) return false;
  carried.block_bytes = call.block_bytes();
  carried.blocks = static_cast<std::uint64_t>(ranks);
  count_blocking(record, call, record.facts);
  if (!record.opened) leave_first_call(record, carried);
  return true;
}

bool carry_opened(const char* function, CommunicatorRecord& record, VectorCall& call, Carried& carried) {
  const CallPlace place{function, call.comm(), *record.communicator, VectorCall::kShape};
  carried.blocks = static_cast<std::uint64_t>(record.communicator->topology.size);
  return already_native(place) ? carry_native(place, call, record.facts, carried) : carry_surveyed(place, call, record.facts, carried);
}

struct Called {
  const char* function;
  const char* large;  // the same with large counts
  const Word64* words;
  bool large_counts;
};

Carried try_to_carry(const Called& called, VectorCall& call) {
  begin_call(CallRuns::once);
  Carried carried;
  CommunicatorRecord* const record = record_for_call(call.comm());
  if (call.left_to_mpi()) return left(native_because::kArguments);
  const NativeCall native{called.large_counts ? called.large : called.function, called.words};
  bool known = false;
  const char* reason = nullptr;
  {
    const InTurn turn(record == nullptr ? nullptr : &record->turn);
    if (record != nullptr && !record->opened) {
      known = survey_first(*record, call, carried);
      if (!known) return carried;
    }
    reason = why_never_carried(record);
    if (reason == nullptr && record->opened) known = carry_opened(called.function, *record, call, carried);
  }
  if (reason != nullptr) {
    VectorCall::Facts facts;
    return left_on_copies(reason, native, call, facts);
  }
  if (known && !carried.done) carry_copies(native, call, record->facts, carried);
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
