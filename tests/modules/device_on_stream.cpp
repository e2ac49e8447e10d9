// The program tests crossrail_alltoall_on_stream. Calls are in order with the stream's other work, do not wait for it, and are captured in a graph
// that is replayed with other data; they are refused where ranks share a GPU without an MPS server. Then it tests crossrail_alltoallv_on_stream
// (device_on_stream_counts.h). It exits 77 (skipped) where there is no GPU.

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <mpi.h>

#include <crossrail/crossrail.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "device_mps.h"
#include "device_on_stream_counts.h"

namespace {

int rank, size, wrong;

void require(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, cudaGetErrorString(result));
  MPI_Abort(MPI_COMM_WORLD, 2);
}

using OnStream = decltype(&crossrail_alltoall_on_stream);

int value(int from, int to, int at, int round) { return from * 1000003 + to * 10007 + at * 31 + round; }

struct Case {
  int count;  // They are the ints of a block.
  cudaStream_t stream;
  int *send, *recv;            // They are on the device.
  int *filled, *got;           // They are pinned.
  std::size_t bytes() const { return sizeof(int) * static_cast<std::size_t>(count) * static_cast<std::size_t>(size); }
};

Case open_case(int count, cudaStream_t stream) {
  Case one{count, stream, nullptr, nullptr, nullptr, nullptr};
  require(cudaMalloc(reinterpret_cast<void**>(&one.send), one.bytes()), "cudaMalloc");
  require(cudaMalloc(reinterpret_cast<void**>(&one.recv), one.bytes()), "cudaMalloc");
  require(cudaMallocHost(reinterpret_cast<void**>(&one.filled), one.bytes()), "cudaMallocHost");
  require(cudaMallocHost(reinterpret_cast<void**>(&one.got), one.bytes()), "cudaMallocHost");
  return one;
}

constexpr std::size_t kBesideInts = std::size_t{1} << 20;
Case besides[3];

void close_case(const Case& one) {
  require(cudaStreamSynchronize(one.stream), "stream");
  MPI_Barrier(MPI_COMM_WORLD);
  require(cudaFree(one.send), "cudaFree");
  require(cudaFree(one.recv), "cudaFree");
  require(cudaFreeHost(one.filled), "cudaFreeHost");
  require(cudaFreeHost(one.got), "cudaFreeHost");
}

// Data go to the device, are exchanged, and come back, all in the stream.
void fill(const Case& one, int round) {
  for (int peer = 0; peer < size; ++peer) {
    for (int at = 0; at < one.count; ++at) one.filled[peer * one.count + at] = value(rank, peer, at, round);
  }
  require(cudaMemcpyAsync(one.send, one.filled, one.bytes(), cudaMemcpyHostToDevice, one.stream), "to the device");
  require(cudaMemsetAsync(one.recv, 0xEE, one.bytes(), one.stream), "poison");
}

void check(const Case& one, int round, const char* how) {
  require(cudaMemcpyAsync(one.got, one.recv, one.bytes(), cudaMemcpyDeviceToHost, one.stream), "from the device");
  require(cudaStreamSynchronize(one.stream), "stream");
  int here = 0;
  for (int peer = 0; peer < size; ++peer) {
    for (int at = 0; at < one.count; ++at) here += one.got[peer * one.count + at] != value(peer, rank, at, round);
  }
  if (here > 0) std::printf("rank %d: WRONG: %s, %d ints a block: %d wrong\n", rank, how, one.count, here);
  wrong += here;
}

void call(OnStream on_stream, const Case& one) {
  const int code = on_stream(one.send, one.count, MPI_INT, one.recv, one.count, MPI_INT, MPI_COMM_WORLD, one.stream);
  if (code != MPI_SUCCESS) wrong += 1;
}

// This call does not wait for the capture to end, and uses memory that nobody has seen.
void call_beside(int count, int round) {
  const std::size_t ints = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  const Case& one = besides[static_cast<std::size_t>(round) % std::size(besides)];
  if (ints > kBesideInts) return;
  if (MPI_Alltoall(one.send, count, MPI_INT, one.recv, count, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS) ++wrong;
}

void check_beside(int count, int round) {
  const std::size_t ints = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  const Case& one = besides[static_cast<std::size_t>(round) % std::size(besides)];
  if (ints > kBesideInts) return;
  require(cudaMemcpy(one.got, one.recv, ints * sizeof(int), cudaMemcpyDeviceToHost), "from the device");
  int here = 0;
  for (std::size_t at = 0; at < ints; ++at) here += one.got[at] != 4711;
  if (here > 0) std::printf("rank %d: WRONG: beside a capture, %d ints a block: %d wrong\n", rank, count, here);
  wrong += here;
}

void open_besides() {
  for (Case& one : besides) {
    one = open_case(static_cast<int>(kBesideInts) / size, nullptr);
    for (std::size_t at = 0; at < kBesideInts; ++at) one.filled[at] = 4711;
    require(cudaMemcpy(one.send, one.filled, one.bytes(), cudaMemcpyHostToDevice), "to the device");
    require(cudaMemset(one.recv, 0, one.bytes()), "poison");
  }
  require(cudaDeviceSynchronize(), "device");
}

// The call is captured in every mode. Calls of other kinds go on meanwhile.
void replay(OnStream on_stream, const Case& one, cudaStreamCaptureMode mode) {
  const cudaStream_t stream = one.stream;
  static int captures = 0;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  require(cudaStreamBeginCapture(stream, mode), "capture");
  call(on_stream, one);
  call_beside(one.count, ++captures);
  require(cudaStreamEndCapture(stream, &graph), "end of capture");
  require(cudaGraphInstantiate(&ready, graph, 0), "instantiate");
  check_beside(one.count, captures);
  for (int round = 10; round < 14; ++round) {
    fill(one, round);
    require(cudaGraphLaunch(ready, stream), "replay");
    check(one, round, "replayed");
  }
  fill(one, 30);
  call(on_stream, one);  // It is eager again, between replays.
  check(one, 30, "eager after replays");
  require(cudaGraphExecDestroy(ready), "destroy");
  require(cudaGraphDestroy(graph), "destroy");
}

// The default streams cannot be captured.
bool is_default(cudaStream_t stream) { return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread; }

void run_case(OnStream on_stream, int count, cudaStream_t stream) {
  const Case one = open_case(count, stream);
  for (int round = 1; round <= 4; ++round) {
    fill(one, round);
    call(on_stream, one);
    check(one, round, is_default(stream) ? "a default stream" : "eager");
  }
  if (!is_default(stream)) {
    for (const auto mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
      replay(on_stream, one, mode);
    }
  }
  close_case(one);
}

// The last rank makes calls that it cannot make. It has not made them then, so all make the right one afterwards.
void refusals(OnStream on_stream, cudaStream_t stream) {
  const auto ints = static_cast<std::size_t>(2 * size);
  std::vector<int> host(ints);
  int* device = nullptr;
  require(cudaMalloc(reinterpret_cast<void**>(&device), 2 * ints * sizeof(int)), "cudaMalloc");
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
  MPI_Type_commit(&gaps);
  int* const behind = device + ints;
  if (rank == size - 1) {
    if (on_stream(device, 1, gaps, behind, 1, MPI_INT, MPI_COMM_WORLD, stream) == MPI_SUCCESS) ++wrong;
    if (on_stream(device, 1, MPI_INT, behind, 1, gaps, MPI_COMM_WORLD, stream) == MPI_SUCCESS) ++wrong;
    if (on_stream(host.data(), 1, MPI_INT, device, 1, MPI_INT, MPI_COMM_WORLD, stream) == MPI_SUCCESS) ++wrong;
    if (on_stream(MPI_IN_PLACE, 0, MPI_INT, device, 1, MPI_INT, MPI_COMM_WORLD, stream) == MPI_SUCCESS) ++wrong;
  }
  if (on_stream(device, 1, MPI_INT, behind, 1, MPI_INT, MPI_COMM_WORLD, stream) != MPI_SUCCESS) ++wrong;
  require(cudaStreamSynchronize(stream), "stream");
  MPI_Type_free(&gaps);
  MPI_Barrier(MPI_COMM_WORLD);
  require(cudaFree(device), "cudaFree");
}

// The first rank has come back from calls of new sizes, with memory that nobody has seen, before any other rank makes them.
void run_ahead(OnStream on_stream, cudaStream_t stream) {
  std::vector<Case> cases;
  for (const int count : {3, 777, 5000, 100000}) cases.push_back(open_case(count, stream));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) MPI_Recv(nullptr, 0, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (const Case& one : cases) {
    fill(one, 50);
    call(on_stream, one);
  }
  for (int peer = 1; rank == 0 && peer < size; ++peer) MPI_Send(nullptr, 0, MPI_INT, peer, 7, MPI_COMM_WORLD);
  for (const Case& one : cases) check(one, 50, "ahead of the others");
  for (const Case& one : cases) close_case(one);
}

// Kernels of two ranks on one device might wait for each other's turn.
void all_refused(OnStream on_stream, cudaStream_t stream) {
  for (const int count : {1, 16384}) {
    const Case one = open_case(count, stream);
    if (on_stream(one.send, count, MPI_INT, one.recv, count, MPI_INT, MPI_COMM_WORLD, stream) == MPI_SUCCESS) ++wrong;
    close_case(one);
  }
}

// A rank alone waits for nobody; also where others share its device.
void run_alone(OnStream on_stream, cudaStream_t stream) {
  const auto reduce = reinterpret_cast<decltype(&crossrail_allreduce_on_stream)>(dlsym(RTLD_DEFAULT, "crossrail_allreduce_on_stream"));
  for (const int count : {1, 16384, 1 << 20}) {
    std::vector<int> sent(static_cast<std::size_t>(count)), got(sent.size());
    for (int at = 0; at < count; ++at) sent[static_cast<std::size_t>(at)] = value(rank, rank, at, count);
    const Case one = open_case(count, stream);
    for (const bool sums : {false, true}) {
      require(cudaMemcpyAsync(one.send, sent.data(), sizeof(int) * sent.size(), cudaMemcpyHostToDevice, stream), "to the device");
      require(cudaMemsetAsync(one.recv, 0, sizeof(int) * sent.size(), stream), "memset");
      const int code = sums ? reduce(one.send, one.recv, count, MPI_INT, MPI_SUM, MPI_COMM_SELF, stream)
                            : on_stream(one.send, count, MPI_INT, one.recv, count, MPI_INT, MPI_COMM_SELF, stream);
      require(cudaMemcpyAsync(got.data(), one.recv, sizeof(int) * got.size(), cudaMemcpyDeviceToHost, stream), "to the host");
      require(cudaStreamSynchronize(stream), "stream");
      if (code != MPI_SUCCESS || got != sent) ++wrong;
    }
    close_case(one);
  }
}

void run_all(OnStream on_stream, cudaStream_t stream) {
  open_besides();
  for (const int count : {1, 7, 250, 1024, 16384, 262144, 4 << 20}) {
    run_case(on_stream, count, stream);
    run_case(on_stream, count, nullptr);
    run_case(on_stream, count, cudaStreamLegacy);
    run_case(on_stream, count, cudaStreamPerThread);
  }
  // This stream waits for the default stream, and the default stream waits for it.
  cudaStream_t blocking = nullptr;
  require(cudaStreamCreate(&blocking), "stream");
  for (const int count : {7, 16384, 4 << 20}) run_case(on_stream, count, blocking);
  require(cudaStreamDestroy(blocking), "destroy");
  refusals(on_stream, stream);
  const char* const asked = std::getenv("CROSSRAIL_ALLTOALL");
  const bool maps = asked != nullptr && std::strcmp(asked, "hybrid") == 0;  // Ranks that map each other's buffers wait for each other.
  if (!maps) run_ahead(on_stream, stream);
  run_case(on_stream, 99, stream);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    if (rank == 0) std::printf("skipped: no GPU\n");
    MPI_Finalize();
    return 77;
  }
  require(cudaSetDevice(rank % devices), "cudaSetDevice");
  const auto on_stream = reinterpret_cast<OnStream>(dlsym(RTLD_DEFAULT, "crossrail_alltoall_on_stream"));
  if (on_stream == nullptr) MPI_Abort(MPI_COMM_WORLD, 3);
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  const bool shared = size > devices && !device_test::mps_is_on(rank % devices);
  shared ? all_refused(on_stream, stream) : run_all(on_stream, stream);
  run_alone(on_stream, stream);
  wrong += on_stream_counts::run(rank, size, stream, shared);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("device_on_stream: %d ranks, %d devices: %d wrong\n", size, devices, all);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
