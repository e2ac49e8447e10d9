#include "mpi/carry.h"

#include <type_traits>

#include "api/collectives.h"
#include "base/log.h"
#include "mpi/communicators.h"
#include "mpi/pmpi.h"
#include "mpi/rows.h"

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

struct Facts {
  TypeFacts send;
  TypeFacts recv;
};

Outcome run_alltoall(Communicator& communicator, const AlltoallArguments& call, const Shape& shape, const Facts& facts) {
  const Plan* known = communicator.plans->find(shape);
  if (communicator.broken || (known != nullptr && known->native())) return run_collective(communicator, shape, {});
  const auto ranks = static_cast<std::uint64_t>(communicator.topology.size);
  const Side recv{call.recvbuf, static_cast<std::uint64_t>(call.recvcount) * ranks, call.recvtype, facts.recv};
  const Side send{call.sendbuf, static_cast<std::uint64_t>(call.sendcount) * ranks, call.sendtype, facts.send};
  Rows rows(communicator, call.comm);
  Buffers buffers;
  if (Status opened = rows.open(call.in_place() ? nullptr : &send, recv, buffers); !opened.ok()) {
    withdraw(communicator, shape, opened.code);
    return {opened};
  }
  Outcome outcome = run_collective(communicator, shape, buffers);
  if (outcome.status.ok() && !outcome.plan->native()) outcome.status = rows.close();
  return outcome;
}

// This rank's own two sides differ in size: the others, who would wait for blocks of a size that is
// not coming, are told.
int refuse_unequal_sides(Communicator& communicator, MPI_Comm comm, const Shape& shape) {
  withdraw(communicator, shape, Code::mismatch);
  return raise(comm, failed(Code::mismatch, "the send and the receive side of this rank differ in size"));
}

Carried try_to_carry(const Word64 arguments[7], bool large_counts) {
  Carried carried;
  if (find_functions() == nullptr) return carried;
  const AlltoallArguments call = typed(arguments, large_counts);
  if (left_to_mpi(call)) return carried;
  CommunicatorRecord* record = record_of(call.comm);
  if (record == nullptr || record->communicator == nullptr) return carried;
  Communicator& communicator = *record->communicator;

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
  if (!call.in_place() && facts.send.bytes * static_cast<std::uint64_t>(call.sendcount) != carried.block_bytes) {
    carried.code = refuse_unequal_sides(communicator, call.comm, shape);
    return carried;
  }
  const Outcome outcome = run_alltoall(communicator, call, shape, facts);
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
