// These contenders are crossrail's own calls in a stream's order (../peer.h):
//   stream_alltoall, stream_allreduce    one call, and then the stream is waited for
//   stream_alltoall_in_a_row, stream_allreduce_in_a_row, stream_alltoallv_in_a_row
//                                        20 calls one after the other, then the stream is waited for; the time is that of one call
//   stream_alltoallv_counted_in_a_row    the same with counts and displacements in device memory
// They are for a bench that runs with crossrail loaded.

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "crossrail/crossrail.h"
#include "in_a_row.h"

#define PEER extern "C" __attribute__((visibility("default")))

namespace {

decltype(&crossrail_alltoall_on_stream) alltoall_on_stream;
decltype(&crossrail_allreduce_on_stream) allreduce_on_stream;
decltype(&crossrail_alltoallv_on_stream) alltoallv_on_stream;
cudaStream_t stream;
double seconds_of_alltoall, seconds_of_allreduce, seconds_of_alltoallv, seconds_of_counted;

bool went_wrong(const char* what) {
  std::fprintf(stderr, "stream_order: %s\n", what);
  return false;
}

bool open() {
  alltoall_on_stream = reinterpret_cast<decltype(alltoall_on_stream)>(dlsym(RTLD_DEFAULT, "crossrail_alltoall_on_stream"));
  allreduce_on_stream = reinterpret_cast<decltype(allreduce_on_stream)>(dlsym(RTLD_DEFAULT, "crossrail_allreduce_on_stream"));
  alltoallv_on_stream = reinterpret_cast<decltype(alltoallv_on_stream)>(dlsym(RTLD_DEFAULT, "crossrail_alltoallv_on_stream"));
  if (alltoall_on_stream == nullptr || allreduce_on_stream == nullptr || alltoallv_on_stream == nullptr) return went_wrong("crossrail is not loaded");
  const cudaError_t result = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return result == cudaSuccess || went_wrong(cudaGetErrorString(result));
}

bool is_open() {
  static const bool opened = open();
  return opened;
}

bool wait() {
  const cudaError_t result = cudaStreamSynchronize(stream);
  return result == cudaSuccess || went_wrong(cudaGetErrorString(result));
}

int code(bool right) { return right ? MPI_SUCCESS : MPI_ERR_OTHER; }

// It holds both sides of a v-call.
struct Vectors {
  const void* send;
  const int *counts, *places;
  MPI_Datatype type;
  void* recv;
  const int *recv_counts, *recv_places;
  MPI_Datatype recv_type;
  MPI_Comm comm;
};

bool alltoallv_in_a_row(const Vectors& call, double& seconds) {
  const auto enqueue = [&] {
    return alltoallv_on_stream(call.send, call.counts, call.places, call.type, call.recv, call.recv_counts, call.recv_places, call.recv_type, call.comm, stream) == MPI_SUCCESS;
  };
  return in_a_row::measure(seconds, enqueue, wait);
}

// The arrays of a call are in device memory, which is kept.
bool on_device(Vectors& call) {
  static int* memory = nullptr;
  int ranks = 0;
  PMPI_Comm_size(call.comm, &ranks);
  const auto many = static_cast<std::size_t>(ranks);
  std::vector<int> all;
  for (const int* array : {call.counts, call.places, call.recv_counts, call.recv_places}) all.insert(all.end(), array, array + ranks);
  const std::size_t bytes = all.size() * sizeof(int);
  if (memory == nullptr && cudaMalloc(reinterpret_cast<void**>(&memory), bytes) != cudaSuccess) return went_wrong("no device memory");
  if (cudaMemcpy(memory, all.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) return went_wrong("the arrays cannot be copied");
  call.counts = memory;
  call.places = memory + many;
  call.recv_counts = memory + 2 * many;
  call.recv_places = memory + 3 * many;
  return true;
}

}  // namespace

PEER int stream_alltoall(const void* send, int count, MPI_Datatype type, void* recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  if (!is_open()) return MPI_ERR_OTHER;
  const int result = alltoall_on_stream(send, count, type, recv, recv_count, recv_type, comm, stream);
  return wait() ? result : MPI_ERR_OTHER;
}

PEER int stream_allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  if (!is_open()) return MPI_ERR_OTHER;
  const int result = allreduce_on_stream(send, recv, count, type, op, comm, stream);
  return wait() ? result : MPI_ERR_OTHER;
}

PEER int stream_alltoall_in_a_row(const void* send, int count, MPI_Datatype type, void* recv, int recv_count, MPI_Datatype recv_type, MPI_Comm comm) {
  const auto enqueue = [&] { return alltoall_on_stream(send, count, type, recv, recv_count, recv_type, comm, stream) == MPI_SUCCESS; };
  return code(is_open() && in_a_row::measure(seconds_of_alltoall, enqueue, wait));
}
PEER double stream_alltoall_in_a_row_seconds() { return seconds_of_alltoall; }

PEER int stream_allreduce_in_a_row(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const auto enqueue = [&] { return allreduce_on_stream(send, recv, count, type, op, comm, stream) == MPI_SUCCESS; };
  return code(is_open() && in_a_row::measure(seconds_of_allreduce, enqueue, wait));
}
PEER double stream_allreduce_in_a_row_seconds() { return seconds_of_allreduce; }

PEER int stream_alltoallv_in_a_row(const void* send, const int* counts, const int* places, MPI_Datatype type, void* recv, const int* recv_counts,
                                   const int* recv_places, MPI_Datatype recv_type, MPI_Comm comm) {
  return code(is_open() && alltoallv_in_a_row({send, counts, places, type, recv, recv_counts, recv_places, recv_type, comm}, seconds_of_alltoallv));
}
PEER double stream_alltoallv_in_a_row_seconds() { return seconds_of_alltoallv; }

PEER int stream_alltoallv_counted_in_a_row(const void* send, const int* counts, const int* places, MPI_Datatype type, void* recv, const int* recv_counts,
                                           const int* recv_places, MPI_Datatype recv_type, MPI_Comm comm) {
  Vectors call{send, counts, places, type, recv, recv_counts, recv_places, recv_type, comm};
  return code(is_open() && on_device(call) && alltoallv_in_a_row(call, seconds_of_counted));
}
PEER double stream_alltoallv_counted_in_a_row_seconds() { return seconds_of_counted; }
