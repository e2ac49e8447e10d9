// crossrail_alltoall_on_stream, crossrail_allreduce_on_stream.

#include "base/log.h"
#include "mpi/communicator/communicators.h"
#include "mpi/interpose/allreduce_call.h"
#include "mpi/interpose/alltoall_call.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/tracing/traced_calls.h"

#define CROSSRAIL_VISIBLE extern "C" __attribute__((visibility("default")))

namespace crossrail::mpi {
namespace {

int refuse(const char* function, const char* why) {
  log_line(LogLevel::error, "%s: %s", function, why);
  return MPI_ERR_OTHER;
}

bool sides_differ(const AlltoallCall& call) { return call.unequal(); }
bool sides_differ(const AllreduceCall&) { return false; }

template <class Call>
int enqueue(const char* function, const Word64* words, void* stream) {
  const trace::Slice traced(trace_function(function));
  if (find_functions() == nullptr) return MPI_ERR_OTHER;
  Call call(words, false);
  if (call.left_to_mpi()) return refuse(function, "arguments that make no sense, or that only the MPI library can take");
  CommunicatorRecord* record = record_of(call.comm());
  if (record == nullptr || record->communicator == nullptr) return refuse(function, "crossrail does not carry this communicator");
  Communicator& communicator = *record->communicator;
  typename Call::Facts none;
  const Survey found = call.survey(communicator.topology.size, none);
  if (found.answer == Survey::Answer::leave) return refuse(function, "a buffer is null, or only the MPI library can take the type");
  if (found.answer == Survey::Answer::refused) return found.code;
  if (sides_differ(call)) return refuse(function, "the two sides differ in size");
  PackedBuffers packed = call.packed(communicator.slot().packing, call.comm(), none);
  const Status status = run_on_stream(communicator, call.shape(), packed, stream);
  return status.ok() ? MPI_SUCCESS : refuse(function, status.what);
}

}  // namespace
}  // namespace crossrail::mpi

CROSSRAIL_VISIBLE int crossrail_alltoall_on_stream(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, void* stream) {
  using crossrail::mpi::word_of;
  const crossrail::mpi::Word64 words[] = {word_of(sendbuf), word_of(sendcount), word_of(sendtype), word_of(recvbuf),
                                          word_of(recvcount), word_of(recvtype), word_of(comm)};
  return crossrail::mpi::enqueue<crossrail::mpi::AlltoallCall>("crossrail_alltoall_on_stream", words, stream);
}

CROSSRAIL_VISIBLE int crossrail_allreduce_on_stream(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                                    MPI_Comm comm, void* stream) {
  using crossrail::mpi::word_of;
  const crossrail::mpi::Word64 words[] = {word_of(sendbuf), word_of(recvbuf), word_of(count), word_of(datatype), word_of(op), word_of(comm)};
  return crossrail::mpi::enqueue<crossrail::mpi::AllreduceCall>("crossrail_allreduce_on_stream", words, stream);
}
