// This contender (../peer.h) shows what the copy engines alone reach. Every rank copies its blocks into the other ranks' buffers on one stream, and
// the device times only the copies. There is no copy to itself, so that only the links between the GPUs are measured, and none of the work that makes
// it a collective. It is the limit for real collectives.

#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#define PEER extern "C" __attribute__((visibility("default")))

namespace {

bool fine(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return true;
  std::fprintf(stderr, "copy_engine_limit: %s: %s\n", what, cudaGetErrorString(result));
  return false;
}

bool everyone(bool mine) {
  int all = mine;
  PMPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

struct Engine {
  cudaStream_t stream = nullptr;
  cudaEvent_t began = nullptr, ended = nullptr;
  int rank = 0, ranks = 1;
  bool works = false;
};

Engine make_engine() {
  Engine engine;
  PMPI_Comm_rank(MPI_COMM_WORLD, &engine.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &engine.ranks);
  engine.works = fine(cudaStreamCreateWithFlags(&engine.stream, cudaStreamNonBlocking), "cudaStreamCreate") &&
                 fine(cudaEventCreate(&engine.began), "cudaEventCreate") && fine(cudaEventCreate(&engine.ended), "cudaEventCreate");
  return engine;
}

Engine& engine() {
  static Engine made = make_engine();
  return made;
}

// The bench has asked for these; its buffers are these or slices of them.
std::set<char*> allocations;

// Returns the allocation that contains it.
char* base_of(void* memory) { return *std::prev(allocations.upper_bound(static_cast<char*>(memory))); }

// They are the allocations of all ranks as mapped here, null for this rank's own. The key is this rank's own allocation.
std::map<void*, std::vector<char*>> mapped;
double last_seconds = 0;

bool map_buffers(void* recv) {
  cudaIpcMemHandle_t mine{};
  const bool offered = fine(cudaIpcGetMemHandle(&mine, recv), "cudaIpcGetMemHandle");
  if (!everyone(offered)) return false;
  std::vector<cudaIpcMemHandle_t> handles(engine().ranks);
  PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, handles.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  std::vector<char*>& buffers = mapped[recv];
  buffers.assign(engine().ranks, nullptr);
  bool opened = true;
  for (int peer = 0; peer < engine().ranks; ++peer) {
    if (peer == engine().rank) continue;
    void* memory = nullptr;
    opened = opened && fine(cudaIpcOpenMemHandle(&memory, handles[peer], cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
    buffers[peer] = static_cast<char*>(memory);
  }
  return everyone(opened);
}

// Each rank begins with the next one, so that every GPU receives from one other GPU at a time. `recv` is the buffer's place in what is mapped.
bool copy_blocks(const char* send, const std::vector<char*>& buffers, std::ptrdiff_t recv, std::size_t bytes) {
  const Engine& with = engine();
  bool copied = fine(cudaEventRecord(with.began, with.stream), "cudaEventRecord");
  for (int step = 1; step < with.ranks && copied; ++step) {
    const int to = (with.rank + step) % with.ranks;
    copied = fine(cudaMemcpyAsync(buffers[to] + recv + with.rank * bytes, send + to * bytes, bytes, cudaMemcpyDeviceToDevice, with.stream),
                  "cudaMemcpyAsync");
  }
  return copied && fine(cudaEventRecord(with.ended, with.stream), "cudaEventRecord") &&
         fine(cudaStreamSynchronize(with.stream), "cudaStreamSynchronize");
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int copy_engine_limit_unchecked = 1;
}

PEER double copy_engine_limit_seconds() { return last_seconds; }

PEER const char* copy_engine_limit_version() { return "copies alone"; }

PEER int copy_engine_limit(const void* send, int count, MPI_Datatype type, void* recv, int, MPI_Datatype, MPI_Comm comm) {
  char* const base = base_of(recv);
  const bool known = mapped.find(base) != mapped.end();
  if (!known && (!everyone(engine().works) || !map_buffers(base))) return MPI_ERR_OTHER;
  int size = 0;
  PMPI_Type_size(type, &size);
  const std::size_t bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  PMPI_Barrier(comm);  // All ranks copy at the same time.
  float milliseconds = 0;
  const bool copied = copy_blocks(static_cast<const char*>(send), mapped[base], static_cast<char*>(recv) - base, bytes) &&
                      fine(cudaEventElapsedTime(&milliseconds, engine().began, engine().ended), "cudaEventElapsedTime");
  last_seconds = milliseconds * 1e-3;
  return copied ? MPI_SUCCESS : MPI_ERR_OTHER;
}

PEER void* copy_engine_limit_alloc(std::size_t bytes) {
  void* memory = nullptr;
  if (!fine(cudaMalloc(&memory, bytes), "cudaMalloc")) return nullptr;
  allocations.insert(static_cast<char*>(memory));
  return memory;
}

PEER void copy_engine_limit_free(void* memory) {
  const auto at = mapped.find(memory);
  if (at != mapped.end()) {
    for (char* buffer : at->second) {
      if (buffer != nullptr) fine(cudaIpcCloseMemHandle(buffer), "cudaIpcCloseMemHandle");
    }
    mapped.erase(at);
  }
  PMPI_Barrier(MPI_COMM_WORLD);  // Memory is freed only when no rank has it mapped.
  allocations.erase(static_cast<char*>(memory));
  fine(cudaFree(memory), "cudaFree");
}
