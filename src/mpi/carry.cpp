#include "mpi/carry.h"

#include <new>
#include <type_traits>

#include "api/collectives.h"
#include "base/log.h"
#include "mpi/communicators.h"
#include "mpi/datatypes.h"
#include "mpi/pmpi.h"

namespace crossrail::mpi {
namespace {

// A handle out of an argument word: a pointer, or an int in its lower half.
template <class Handle>
Handle handle_from(Word64 word) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(word);
  } else {
    return static_cast<Handle>(word);
  }
}

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
  const auto count = [large_counts](Word64 word) {
    return large_counts ? static_cast<long long>(word) : static_cast<long long>(static_cast<int>(word));
  };
  return {reinterpret_cast<void*>(words[0]), count(words[1]), handle_from<MPI_Datatype>(words[2]),
          reinterpret_cast<void*>(words[3]), count(words[4]), handle_from<MPI_Datatype>(words[5]),
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

int mpi_class(Code code) {
  switch (code) {
    case Code::mismatch: return MPI_ERR_TRUNCATE;
    case Code::no_memory: return MPI_ERR_NO_MEM;
    case Code::invalid: return MPI_ERR_ARG;
    case Code::system: return MPI_ERR_INTERN;
    default: return MPI_ERR_OTHER;
  }
}

int raise(MPI_Comm comm, const Status& status) {
  log_line(LogLevel::error, "MPI_Alltoall: %s", status.what);
  const int code = mpi_class(status.code);
  (void)pmpi().Comm_call_errhandler(comm, code);
  return code;
}

// The packing room of a communicator, at least `bytes` large.
Status reserve_packed(Communicator& communicator, std::size_t bytes) {
  if (communicator.packed_bytes >= bytes) return {};
  communicator.packed.reset(new (std::nothrow) std::byte[bytes]);
  communicator.packed_bytes = communicator.packed == nullptr ? 0 : bytes;
  return communicator.packed == nullptr ? failure(Code::no_memory, "no memory to pack %zu bytes", bytes) : Status{};
}

struct Sides {
  TypeFacts send;
  TypeFacts recv;
};

TypedMemory send_memory(const AlltoallArguments& call, const Sides& sides, int size) {
  if (call.in_place()) {
    return {call.recvbuf, static_cast<std::uint64_t>(call.recvcount) * size, call.recvtype, sides.recv.bytes, call.comm};
  }
  return {call.sendbuf, static_cast<std::uint64_t>(call.sendcount) * size, call.sendtype, sides.send.bytes, call.comm};
}

// Runs a call of which at least one side has gaps: through rows of packed bytes.
Outcome run_packed(Communicator& communicator, const AlltoallArguments& call, const Shape& shape, const Sides& sides) {
  const Plan* known = communicator.plans->find(shape);
  if (known != nullptr && known->native()) return run_collective(communicator, shape, {});
  const int size = communicator.topology.size;
  const std::size_t row_bytes = shape.block_bytes * size;
  const bool pack_recv = !sides.recv.contiguous;
  const bool pack_send = call.in_place() ? pack_recv : !sides.send.contiguous;
  const bool own_send_row = pack_send && !call.in_place();
  if (Status room = reserve_packed(communicator, row_bytes * (pack_recv + own_send_row)); !room.ok()) return {room};
  std::byte* const recv_row = communicator.packed.get();
  std::byte* const send_row = recv_row + (pack_recv && own_send_row ? row_bytes : 0);
  if (pack_send) {
    if (Status packed = pack(send_memory(call, sides, size), send_row); !packed.ok()) return {packed};
  }
  Buffers buffers;
  buffers.recv = pack_recv ? recv_row : static_cast<std::byte*>(call.recvbuf);
  buffers.send = pack_send ? send_row : static_cast<const std::byte*>(call.sendbuf);
  Outcome outcome = run_collective(communicator, shape, buffers);
  if (!outcome.status.ok() || outcome.plan->native() || !pack_recv) return outcome;
  const TypedMemory recv{call.recvbuf, static_cast<std::uint64_t>(call.recvcount) * size, call.recvtype,
                         sides.recv.bytes, call.comm};
  outcome.status = unpack(recv_row, recv);
  return outcome;
}

Outcome run_alltoall(Communicator& communicator, const AlltoallArguments& call, const Shape& shape, const Sides& sides) {
  const bool gaps = !sides.recv.contiguous || (!call.in_place() && !sides.send.contiguous);
  if (gaps && shape.block_bytes > 0) return run_packed(communicator, call, shape, sides);
  Buffers buffers;
  buffers.recv = static_cast<std::byte*>(call.recvbuf);
  buffers.send = call.in_place() ? buffers.recv : static_cast<const std::byte*>(call.sendbuf);
  return run_collective(communicator, shape, buffers);
}

}  // namespace

namespace {

Carried try_to_carry(const Word64 arguments[7], bool large_counts) {
  Carried carried;
  if (find_functions() == nullptr) return carried;
  const AlltoallArguments call = typed(arguments, large_counts);
  if (left_to_mpi(call)) return carried;
  CommunicatorRecord* record = record_of(call.comm);
  if (record == nullptr || record->communicator == nullptr) return carried;
  Communicator& communicator = *record->communicator;

  Sides sides;
  carried.done = true;
  carried.code = describe(call.recvtype, call.comm, sides.recv);
  if (carried.code == MPI_SUCCESS && !call.in_place()) carried.code = describe(call.sendtype, call.comm, sides.send);
  if (carried.code != MPI_SUCCESS) return carried;
  carried.block_bytes = sides.recv.bytes * static_cast<std::uint64_t>(call.recvcount);
  if (null_without_reason(call.recvbuf, call.recvcount, sides.recv) ||
      (!call.in_place() && null_without_reason(call.sendbuf, call.sendcount, sides.send))) {
    carried.done = false;
    return carried;
  }
  const Shape shape{Collective::alltoall, Memory::host, call.in_place(), carried.block_bytes};
  if (!call.in_place() && sides.send.bytes * static_cast<std::uint64_t>(call.sendcount) != carried.block_bytes) {
    // Tell the others too, who would wait for blocks of a size that is not coming.
    if (communicator.board != nullptr) communicator.board->enter(~shape.hash(), carried.block_bytes);
    communicator.broken = true;
    carried.code = raise(call.comm, failed(Code::mismatch, "the send and the receive side of this rank differ in size"));
    return carried;
  }
  const Outcome outcome = run_alltoall(communicator, call, shape, sides);
  if (!outcome.status.ok()) {
    carried.algorithm = "error";
    carried.code = raise(call.comm, outcome.status);
    return carried;
  }
  carried.done = !outcome.plan->native();
  carried.algorithm = outcome.plan->algorithm;
  carried.code = MPI_SUCCESS;
  return carried;
}

thread_local const char* last_algorithm_of_thread = "native";

}  // namespace

Carried carry_alltoall(const Word64 arguments[7], bool large_counts) {
  const Carried carried = try_to_carry(arguments, large_counts);
  last_algorithm_of_thread = carried.algorithm;
  return carried;
}

const char* last_algorithm() { return last_algorithm_of_thread; }

}  // namespace crossrail::mpi
