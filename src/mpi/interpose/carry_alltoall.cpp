// MPI_Alltoall.

#include <limits>

#include "device/device.h"
#include "mpi/communicator/communicators.h"
#include "mpi/interpose/alltoall_call.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"

namespace crossrail::mpi {
namespace {

bool on_device(const Side& side) {
  const Span span = span_of(side);
  return span.bytes > 0 && device::is_device_memory(moved(side.address, span.lower));
}

// A call that the MPI library is to carry, on device memory of which that knows nothing: it gets our
// copies. Its other ranks may do so or not.
void carry_copies(const CallPlace& place, PackedBuffers& packed, Carried& carried) {
  Buffers buffers;
  const std::uint64_t bytes = place.shape.block_bytes;
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max()) || !packed.open(buffers, nullptr).ok()) return;
  const int count = static_cast<int>(bytes);
  carried.done = true;
  carried.code = pmpi().Alltoall(place.shape.in_place ? MPI_IN_PLACE : buffers.send, count, handles().byte, buffers.recv, count,
                                 handles().byte, place.comm);
  if (carried.code == MPI_SUCCESS && !packed.close().ok()) carried.code = MPI_ERR_OTHER;
}

void run_alltoall(const CallPlace& place, const AlltoallCall& call, Carried& carried) {
  AlltoallCall::Facts none;
  PackedBuffers packed = call.packed(place.communicator.slot().packing, place.comm, none);
  complete_call(place, run_collective(place.communicator, place.shape, packed), carried);
  const bool devices = !carried.done && device::driver_present() && (on_device(call.received()) || (!call.in_place() && on_device(*call.sent())));
  if (devices && !mpi_takes_device_memory()) carry_copies(place, packed, carried);
}

Carried try_to_carry(const Word64* words, bool large_counts) {
  Carried carried;
  if (find_functions() == nullptr) return carried;
  AlltoallCall call(words, large_counts);
  if (call.left_to_mpi()) return carried;
  CommunicatorRecord* record = record_of(call.comm());
  if (record == nullptr || record->communicator == nullptr) return carried;
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
  }
  return carried;
}

}  // namespace

Carried carry_alltoall(const Word64* words, bool large_counts) { return noted(try_to_carry(words, large_counts)); }

}  // namespace crossrail::mpi
