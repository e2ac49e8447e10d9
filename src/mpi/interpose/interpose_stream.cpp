// This file defines crossrail_alltoall_on_stream and its relatives for alltoallv, allreduce, allgather and reduce_scatter_block.

#include "base/log.h"
#include "comm/counted_buffers.h"
#include "mpi/buffers/datatypes.h"
#include "mpi/communicator/opening.h"
#include "engine/engine.h"
#include "mpi/arguments/regular_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/traced_calls.h"

#define CROSSRAIL_VISIBLE extern "C" __attribute__((visibility("default")))

namespace crossrail::mpi {
namespace {

int refuse(const char* function, const char* why) {
  log_line(LogLevel::error, "%s: %s", function, why);
  return MPI_ERR_OTHER;
}

// The arguments are those of MPI's function.
template <class... Arguments>
int enqueue(const char* name, Function function, void* stream, Arguments... arguments) {
  const trace::Slice traced(trace_function(name));
  if (find_functions() == nullptr) return MPI_ERR_OTHER;
  const Word64 words[] = {word_of(arguments)...};
  RegularCall call(row_of(function), words, false);
  if (call.left_to_mpi()) return refuse(name, "arguments that make no sense, or that only the MPI library can take");
  CommunicatorRecord* record = record_of(call.comm());
  if (record == nullptr || record->communicator == nullptr) return refuse(name, "crossrail does not carry this communicator");
  Communicator& communicator = *record->communicator;
  RegularCall::Facts none;
  const Survey found = call.survey(communicator.topology.size, none);
  if (found.answer == Survey::Answer::leave) return refuse(name, "a buffer is null, or only the MPI library can take the type");
  if (found.answer == Survey::Answer::refused) return found.code;
  if (call.unequal(communicator.topology.rank)) return refuse(name, "the two sides differ in size");
  PackedSides packed = call.packed(communicator.slot().packing, call.comm());
  const Status status = run_on_stream(communicator, call.shape(), packed, stream);
  return status.ok() ? MPI_SUCCESS : refuse(name, status.what);
}

// This is one side of an alltoallv whose arrays may be in device memory, so nothing reads them here.
struct CountedArguments {
  void* address;
  const int *counts, *displacements;
  MPI_Datatype type;
  bool complete() const { return counts != nullptr && displacements != nullptr && type != handles().type_null; }
};

// Sets `possible` to false if the type cannot be taken. Returns MPI's code for a type that MPI refuses, otherwise MPI_SUCCESS.
int describe_side(const CountedArguments& given, MPI_Comm comm, crossrail_counted_side& side, bool& possible) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;
  TypeFacts facts;
  if (const int code = describe(given.type, comm, facts); !facts.usable) return code == MPI_SUCCESS ? MPI_ERR_TYPE : code;
  possible = possible && facts.contiguous && facts.bytes < kMostBytes && given.address != MPI_IN_PLACE;
  // MPI_BOTTOM is null, too; then the type itself says where its data lie.
  std::byte* const base = given.address == nullptr && facts.lower == 0 ? nullptr : moved(given.address, facts.lower);
  side = {base, given.counts, given.displacements, static_cast<std::int64_t>(facts.bytes), 0, 0};
  return MPI_SUCCESS;
}

int enqueue_counted(const char* function, const CountedArguments& send, const CountedArguments& recv, MPI_Comm comm, void* stream) {
  const trace::Slice traced(trace_function(function));
  if (find_functions() == nullptr) return MPI_ERR_OTHER;
  if (!send.complete() || !recv.complete()) return refuse(function, "an array is null, or a datatype");
  CommunicatorRecord* record = record_of(comm);
  if (record == nullptr || record->communicator == nullptr) return refuse(function, "crossrail does not carry this communicator");
  crossrail_counted_side out{}, in{};
  bool possible = true;
  if (const int code = describe_side(send, comm, out, possible); code != MPI_SUCCESS) return code;
  if (const int code = describe_side(recv, comm, in, possible); code != MPI_SUCCESS) return code;
  CountedBuffers buffers(out, in, possible);
  const Status status = run_on_stream(*record->communicator, {Collective::alltoallv, Memory::host, false, 0}, buffers, stream);
  return status.ok() ? MPI_SUCCESS : refuse(function, status.what);
}

}  // namespace
}  // namespace crossrail::mpi

CROSSRAIL_VISIBLE int crossrail_alltoall_on_stream(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, void* stream) {
  return crossrail::mpi::enqueue("crossrail_alltoall_on_stream", crossrail::mpi::Function::alltoall, stream, sendbuf,
                                                               sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

CROSSRAIL_VISIBLE int crossrail_allgather_on_stream(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                                    int recvcount, MPI_Datatype recvtype, MPI_Comm comm, void* stream) {
  return crossrail::mpi::enqueue("crossrail_allgather_on_stream", crossrail::mpi::Function::allgather, stream, sendbuf,
                                                               sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

CROSSRAIL_VISIBLE int crossrail_alltoallv_on_stream(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                                                    void* recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                                                    MPI_Comm comm, void* stream) {
  return crossrail::mpi::enqueue_counted("crossrail_alltoallv_on_stream", {const_cast<void*>(sendbuf), sendcounts, sdispls, sendtype},
                                         {recvbuf, recvcounts, rdispls, recvtype}, comm, stream);
}

CROSSRAIL_VISIBLE int crossrail_allreduce_on_stream(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                                    MPI_Comm comm, void* stream) {
  return crossrail::mpi::enqueue("crossrail_allreduce_on_stream", crossrail::mpi::Function::allreduce, stream, sendbuf,
                                                                recvbuf, count, datatype, op, comm);
}

CROSSRAIL_VISIBLE int crossrail_reduce_scatter_block_on_stream(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                                                               MPI_Op op, MPI_Comm comm, void* stream) {
  return crossrail::mpi::enqueue("crossrail_reduce_scatter_block_on_stream", crossrail::mpi::Function::reduce_scatter_block,
                                                                stream, sendbuf, recvbuf, recvcount, datatype, op, comm);
}
