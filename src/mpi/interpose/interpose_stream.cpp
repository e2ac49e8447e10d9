// crossrail_alltoall_on_stream.

#include "base/log.h"
#include "mpi/communicator/communicators.h"
#include "mpi/interpose/alltoall_call.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/library/pmpi.h"

#define CROSSRAIL_VISIBLE extern "C" __attribute__((visibility("default")))

namespace crossrail::mpi {
namespace {

int refuse(const char* why) {
  log_line(LogLevel::error, "crossrail_alltoall_on_stream: %s", why);
  return MPI_ERR_OTHER;
}

int enqueue(const Word64* words, void* stream) {
  if (find_functions() == nullptr) return MPI_ERR_OTHER;
  AlltoallCall call(words, false);
  if (call.left_to_mpi()) return refuse("arguments that make no sense");
  CommunicatorRecord* record = record_of(call.comm());
  if (record == nullptr || record->communicator == nullptr) return refuse("crossrail does not carry this communicator");
  Communicator& communicator = *record->communicator;
  AlltoallCall::Facts none;
  const Survey found = call.survey(communicator.topology.size, none);
  if (found.answer == Survey::Answer::leave) return refuse("a buffer is null");
  if (found.answer == Survey::Answer::refused) return found.code;
  if (call.unequal()) return refuse("the two sides differ in size");
  PackedBuffers packed = call.packed(communicator.slot().packing, call.comm(), none);
  const Status status = run_on_stream(communicator, call.shape(), packed, stream);
  return status.ok() ? MPI_SUCCESS : refuse(status.what);
}

}  // namespace
}  // namespace crossrail::mpi

CROSSRAIL_VISIBLE int crossrail_alltoall_on_stream(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, void* stream) {
  using crossrail::mpi::word_of;
  const crossrail::mpi::Word64 words[] = {word_of(sendbuf), word_of(sendcount), word_of(sendtype), word_of(recvbuf),
                                          word_of(recvcount), word_of(recvtype), word_of(comm)};
  return crossrail::mpi::enqueue(words, stream);
}
