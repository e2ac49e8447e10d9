// MPI_Alltoall.

#include "device/device.h"
#include "mpi/communicator/communicators.h"
#include "mpi/interpose/alltoall_call.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"

namespace crossrail::mpi {
namespace {

// A call that the MPI library is to carry, on device memory of which that knows nothing: it gets copies.
void carry_copies(const char* function, const Word64* words, const AlltoallCall& call, Carried& carried) {
  constexpr std::size_t kReceiveWord = 3, kLastWord = AlltoallCall::kWords - 1;
  const Carried copied = call_on_copies(function, words, {call.span_sent({}), call.span_received({}), 0, kReceiveWord, kLastWord});
  if (!copied.done) return;
  carried.done = true;
  carried.code = copied.code;
}

void run_alltoall(const CallPlace& place, const AlltoallCall& call, Carried& carried) {
  AlltoallCall::Facts none;
  PackedBuffers packed = call.packed(place.communicator.slot().packing, place.comm, none);
  complete_call(place, run_collective(place.communicator, place.shape, packed), carried);
}

Carried try_to_carry(const Word64* words, bool large_counts) {
  Carried carried;
  if (find_functions() == nullptr) return carried;
  AlltoallCall call(words, large_counts);
  if (call.left_to_mpi()) return carried;
  CommunicatorRecord* record = record_of(call.comm());
  if (record == nullptr || record->communicator == nullptr || record->has_nothing_to_do()) return carried;
  AlltoallCall::Facts none;
  const Survey found = call.survey(record->communicator->topology.size, none);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  carried.block_bytes = call.block_bytes();
  if (found.answer != Survey::Answer::carry) return carried;
  const Shape shape = call.shape();
  const CallPlace place{"MPI_Alltoall", call.comm(), *record->communicator, shape};
  if (call.unequal()) {
    refuse_unequal_sides(place, carried);
  } else {
    run_alltoall(place, call, carried);
    const bool copies = !carried.done && device::driver_present() && !mpi_takes_device_memory();
    if (copies) carry_copies(large_counts ? "MPI_Alltoall_c" : "MPI_Alltoall", words, call, carried);
  }
  return carried;
}

}  // namespace

Carried carry_alltoall(const Word64* words, bool large_counts) { return noted(try_to_carry(words, large_counts)); }

}  // namespace crossrail::mpi
