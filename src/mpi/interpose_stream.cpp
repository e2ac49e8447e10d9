// crossrail_alltoall_on_stream.

#include "base/log.h"
#include "mpi/communicators.h"
#include "mpi/pmpi.h"
#include "mpi/rows.h"
#include "mpi/settle.h"

#define CROSSRAIL_VISIBLE extern "C" __attribute__((visibility("default")))

namespace crossrail::mpi {
namespace {

struct TypedBuffer {
  const void* address;
  int count;
  MPI_Datatype type;
};

int refuse(const char* why) {
  log_line(LogLevel::error, "crossrail_alltoall_on_stream: %s", why);
  return MPI_ERR_OTHER;
}

int enqueue(const TypedBuffer& send, const TypedBuffer& recv, MPI_Comm comm, void* stream) {
  if (find_functions() == nullptr) return MPI_ERR_OTHER;
  CommunicatorRecord* record = record_of(comm);
  if (record == nullptr || record->communicator == nullptr) return refuse("crossrail does not carry this communicator");
  TypeFacts sent, received;
  const bool in_place = send.address == MPI_IN_PLACE;
  if (const int code = describe(recv.type, comm, received); !received.usable) return code;
  if (const int code = in_place ? MPI_SUCCESS : describe(send.type, comm, sent); !in_place && !sent.usable) return code;
  Communicator& communicator = *record->communicator;
  const auto ranks = static_cast<std::uint64_t>(communicator.topology.size);
  const Side to{const_cast<void*>(recv.address), static_cast<std::uint64_t>(recv.count) * ranks, recv.type, received};
  const Side from{const_cast<void*>(send.address), static_cast<std::uint64_t>(send.count) * ranks, send.type, sent};
  const Shape shape{Collective::alltoall, Memory::host, in_place, received.bytes * static_cast<std::uint64_t>(recv.count)};
  if (!in_place && sent.bytes * static_cast<std::uint64_t>(send.count) != shape.block_bytes) return refuse("the two sides differ in size");
  Rows rows(communicator, comm, in_place ? nullptr : &from, to);
  const Status status = run_on_stream(communicator, shape, rows, stream);
  return status.ok() ? MPI_SUCCESS : refuse(status.what);
}

}  // namespace
}  // namespace crossrail::mpi

CROSSRAIL_VISIBLE int crossrail_alltoall_on_stream(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, void* stream) {
  return crossrail::mpi::enqueue({sendbuf, sendcount, sendtype}, {recvbuf, recvcount, recvtype}, comm, stream);
}
