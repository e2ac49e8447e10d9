// MPI_Alltoallv and MPI_Alltoallw.

#include "mpi/communicator/communicators.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/interpose/vector_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/statistics/counters.h"

namespace crossrail::mpi {
namespace {

void carry_surveyed(const CallPlace& place, VectorCall& call, VectorCall::Facts& facts, Carried& carried) {
  const Topology& topology = place.communicator.topology;
  const Survey found = call.survey(topology.size, facts);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  if (found.answer != Survey::Answer::carry) return;
  carried.block_bytes = call.block_bytes();
  if (call.unequal(topology.rank, facts)) {
    refuse_unequal_sides(place, carried);
    return;
  }
  PackedVectors packed = call.packed(place.communicator.slot().packing, place.comm, facts);
  complete_call(place, run_collective(place.communicator, place.shape, packed), carried);
}

Carried try_to_carry(const char* function, VectorCall& call) {
  Carried carried;
  if (call.left_to_mpi()) return carried;
  CommunicatorRecord* record = record_of(call.comm());
  if (record == nullptr || record->communicator == nullptr) return carried;
  Communicator& communicator = *record->communicator;
  const CallPlace place{function, call.comm(), communicator, VectorCall::kShape};
  if (already_native(place)) {
    if (counting()) carried.block_bytes = call.estimated_block_bytes(communicator.topology.size);
    complete_call(place, run_collective(communicator, VectorCall::kShape, {}), carried);
  } else {
    carry_surveyed(place, call, record->facts, carried);
  }
  return carried;
}

}  // namespace

Carried carry_alltoallv(const Word64* words, bool large_counts) {
  if (find_functions() == nullptr) return noted({});
  AlltoallvCall call(words, large_counts);
  return noted(try_to_carry("MPI_Alltoallv", call));
}

Carried carry_alltoallw(const Word64* words, bool large_counts) {
  if (find_functions() == nullptr) return noted({});
  AlltoallwCall call(words, large_counts);
  return noted(try_to_carry("MPI_Alltoallw", call));
}

}  // namespace crossrail::mpi
