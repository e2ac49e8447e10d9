// MPI_Alltoall.

#include <limits>

#include "device/device.h"
#include "mpi/arguments.h"
#include "mpi/communicators.h"
#include "mpi/library.h"
#include "mpi/pmpi.h"
#include "mpi/rows.h"
#include "mpi/settle.h"

namespace crossrail::mpi {
namespace {

struct AlltoallArguments {
  void* sendbuf;
  long long sendcount;
  MPI_Datatype sendtype;
  void* recvbuf;
  long long recvcount;
  MPI_Datatype recvtype;
  MPI_Comm comm;
  bool in_place() const { return sendbuf == MPI_IN_PLACE; }
};

AlltoallArguments typed(const Word64 words[7], bool large_counts) {
  return {reinterpret_cast<void*>(words[0]), count_from(words[1], large_counts), handle_from<MPI_Datatype>(words[2]),
          reinterpret_cast<void*>(words[3]), count_from(words[4], large_counts), handle_from<MPI_Datatype>(words[5]),
          handle_from<MPI_Comm>(words[6])};
}

// Arguments that the MPI library refuses itself, before it communicates: it shall say so.
bool left_to_mpi(const AlltoallArguments& call) {
  if (call.recvcount < 0 || call.recvtype == handles().type_null || call.recvbuf == MPI_IN_PLACE) return true;
  if (!call.in_place() && (call.sendcount < 0 || call.sendtype == handles().type_null)) return true;
#ifndef OPEN_MPI
  // The MPICH family refuses these; Open MPI does not look.
  if (!call.in_place() && call.sendbuf == call.recvbuf && call.recvcount > 0 && call.recvbuf != nullptr) return true;
#endif
  return false;
}

// A null buffer is right for no data, and for datatypes that hold absolute addresses (MPI_BOTTOM).
bool null_without_reason(const void* buffer, long long count, const TypeFacts& facts) {
  return buffer == nullptr && count > 0 && facts.bytes > 0 && facts.predefined;
}

struct Facts {
  TypeFacts send;
  TypeFacts recv;
};

// Whether the MPI library says that it takes device pointers.
bool mpi_takes_device_memory() {
  using Query = int (*)();
  static const auto query = reinterpret_cast<Query>(library_symbol("MPIX_Query_cuda_support"));
  static const bool takes = query != nullptr && query() != 0;
  return takes;
}

bool on_device(const Side& side) {
  const Span span = span_of(side);
  return span.bytes > 0 && device::is_device_memory(moved(side.address, span.lower));
}

// A call that the MPI library is to carry, on device memory of which that knows nothing: it gets our
// copies. Its other ranks may do so or not.
void carry_copies(const CallPlace& place, Rows& rows, Carried& carried) {
  Buffers buffers;
  const std::uint64_t bytes = place.shape.block_bytes;
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max()) || !rows.open(buffers).ok()) return;
  const int count = static_cast<int>(bytes);
  carried.done = true;
  carried.code = pmpi().Alltoall(place.shape.in_place ? MPI_IN_PLACE : buffers.send, count, handles().byte, buffers.recv, count,
                                 handles().byte, place.comm);
  if (carried.code == MPI_SUCCESS && !rows.close().ok()) carried.code = MPI_ERR_OTHER;
}

void run_alltoall(const CallPlace& place, const AlltoallArguments& call, const Facts& facts, Carried& carried) {
  Communicator& communicator = place.communicator;
  const auto ranks = static_cast<std::uint64_t>(communicator.topology.size);
  const Side recv{call.recvbuf, static_cast<std::uint64_t>(call.recvcount) * ranks, call.recvtype, facts.recv};
  const Side send{call.sendbuf, static_cast<std::uint64_t>(call.sendcount) * ranks, call.sendtype, facts.send};
  Rows rows(communicator, call.comm, call.in_place() ? nullptr : &send, recv);
  settle(place, run_collective(communicator, place.shape, rows), carried);
  const bool devices = !carried.done && device::driver_present() && (on_device(recv) || (!call.in_place() && on_device(send)));
  if (devices && !mpi_takes_device_memory()) carry_copies(place, rows, carried);
}

Carried try_to_carry(const Word64 arguments[7], bool large_counts) {
  Carried carried;
  if (find_functions() == nullptr) return carried;
  const AlltoallArguments call = typed(arguments, large_counts);
  if (left_to_mpi(call)) return carried;
  CommunicatorRecord* record = record_of(call.comm);
  if (record == nullptr || record->communicator == nullptr) return carried;

  Facts facts;
  carried.done = true;
  carried.code = describe(call.recvtype, call.comm, facts.recv);
  if (!facts.recv.usable) return carried;
  if (!call.in_place()) {
    carried.code = describe(call.sendtype, call.comm, facts.send);
    if (!facts.send.usable) return carried;
  }
  carried.block_bytes = facts.recv.bytes * static_cast<std::uint64_t>(call.recvcount);
  if (null_without_reason(call.recvbuf, call.recvcount, facts.recv) ||
      (!call.in_place() && null_without_reason(call.sendbuf, call.sendcount, facts.send))) {
    carried.done = false;
    return carried;
  }
  const Shape shape{Collective::alltoall, Memory::host, call.in_place(), carried.block_bytes};
  const CallPlace place{"MPI_Alltoall", call.comm, *record->communicator, shape};
  if (!call.in_place() && facts.send.bytes * static_cast<std::uint64_t>(call.sendcount) != carried.block_bytes) {
    refuse_unequal_sides(place, carried);
    return carried;
  }
  run_alltoall(place, call, facts, carried);
  return carried;
}

}  // namespace

Carried carry_alltoall(const Word64* arguments, bool large_counts) {
  return noted(try_to_carry(arguments, large_counts));
}

}  // namespace crossrail::mpi
