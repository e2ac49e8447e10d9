// The functions of virtual_world/host_device.h that the scenarios call, on a GPU.

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/nccl/scenarios.h"
#include "virtual_world/host_device.h"

namespace {

void require(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(3);
}

// Copies from and to memory that is not pinned would wait for the stream, so pinned memory stands between.
struct Bounce {
  void *pinned, *to;
  std::size_t bytes;
};
void end_bounce(void* data) {
  auto* const bounce = static_cast<Bounce*>(data);
  std::memcpy(bounce->to, bounce->pinned, bounce->bytes);  // The pinned memory stays: no function of CUDA's may be called here.
  delete bounce;
}

bool is_on_device(const void* address) {
  cudaPointerAttributes facts{};
  require(cudaPointerGetAttributes(&facts, address), "cudaPointerGetAttributes");
  return facts.type == cudaMemoryTypeDevice;
}

void* pinned(std::size_t bytes) {
  void* memory = nullptr;
  require(cudaMallocHost(&memory, bytes), "cudaMallocHost");
  return memory;
}

}  // namespace

namespace nccl_tests {

bool use_device(int rank) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return false;
  require(cudaSetDevice(rank % devices), "cudaSetDevice");
  return true;
}

}  // namespace nccl_tests

extern "C" {

void* host_device_alloc(size_t bytes, enum host_device_kind) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, bytes), "cudaMalloc");
  return memory;
}
void host_device_free(void* memory) { require(cudaFree(memory), "cudaFree"); }
void* host_device_open_stream(void) {
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}
void host_device_close_stream(void* stream) { require(cudaStreamDestroy(static_cast<cudaStream_t>(stream)), "cudaStreamDestroy"); }
void host_device_wait(void* stream) { require(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "cudaStreamSynchronize"); }
void host_device_copy(void* stream, const crossrail_block* block) {
  void* const between = pinned(block->bytes);
  const auto in = static_cast<cudaStream_t>(stream);
  if (is_on_device(block->to)) {
    std::memcpy(between, block->from, block->bytes);
    require(cudaMemcpyAsync(block->to, between, block->bytes, cudaMemcpyHostToDevice, in), "to the device");
    return;
  }
  require(cudaMemcpyAsync(between, block->from, block->bytes, cudaMemcpyDeviceToHost, in), "from the device");
  require(cudaLaunchHostFunc(in, end_bounce, new Bounce{between, block->to, block->bytes}), "cudaLaunchHostFunc");
}

void host_device_begin_capture(void* stream) {
  require(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
}
void* host_device_end_capture(void* stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  require(cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph), "cudaStreamEndCapture");
  require(cudaGraphInstantiate(&made, graph, 0), "cudaGraphInstantiate");
  require(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return made;
}
void host_device_follow(void* stream, void* other) {
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  require(cudaEventRecord(event, static_cast<cudaStream_t>(other)), "cudaEventRecord");
  require(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), event, 0), "cudaStreamWaitEvent");
  require(cudaEventDestroy(event), "cudaEventDestroy");
}
void host_device_launch(void* graph, void* stream) {
  require(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)), "cudaGraphLaunch");
}
void host_device_close_graph(void* graph) { require(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)), "cudaGraphExecDestroy"); }
}
