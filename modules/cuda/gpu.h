// This is the device as the host side of a module sees it, in CUDA's words: types, the driver's entry points, and what is more than one
// call. The driver is the one the process has loaded. An entry that an old driver lacks says "not supported" when called.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crossrail/device_module.h"

namespace gpu {

inline constexpr const char* kName = "cuda";

using Result = CUresult;
using Context = CUcontext;
using Stream = CUstream;
using Event = CUevent;
using Image = CUmodule;
using Function = CUfunction;
using Graph = CUgraph;
using Node = CUgraphNode;
using Executable = CUgraphExec;
using Chunk = CUmemGenericAllocationHandle;
using Pool = CUmemoryPool;
using Address = CUdeviceptr;
using IpcHandle = CUipcMemHandle;

inline constexpr Result kSuccess = CUDA_SUCCESS;
inline constexpr Result kNotReady = CUDA_ERROR_NOT_READY;
inline constexpr Result kNotSupported = CUDA_ERROR_NOT_SUPPORTED;
inline constexpr Result kGone = CUDA_ERROR_CONTEXT_IS_DESTROYED;
inline constexpr Result kAlreadyRegistered = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;

template <class Pointer>
struct Entry;
template <class... Arguments>
struct Entry<CUresult(CUDAAPI*)(Arguments...)> {
  using Pointer = CUresult(CUDAAPI*)(Arguments...);
  Pointer at = nullptr;
  Result operator()(Arguments... arguments) const { return at == nullptr ? kNotSupported : at(arguments...); }
  explicit operator bool() const { return at != nullptr; }
};

// An entry has our word and the driver's. cuda.h gives most names a version, which is part of the symbol.
#define GPU_ENTRIES(ENTRY)                                \
  ENTRY(error_text, cuGetErrorString)                     \
  ENTRY(pointer_attributes, cuPointerGetAttributes)       \
  ENTRY(set_pointer_attribute, cuPointerSetAttribute)     \
  ENTRY(address_range, cuMemGetAddressRange)              \
  ENTRY(current_context, cuCtxGetCurrent)                 \
  ENTRY(push_context, cuCtxPushCurrent)                   \
  ENTRY(pop_context, cuCtxPopCurrent)                     \
  ENTRY(context_device, cuCtxGetDevice)                   \
  ENTRY(context_id, cuCtxGetId)                           \
  ENTRY(context_priorities, cuCtxGetStreamPriorityRange)  \
  ENTRY(primary_context, cuDevicePrimaryCtxRetain)        \
  ENTRY(primary_state, cuDevicePrimaryCtxGetState)        \
  ENTRY(device_uuid, cuDeviceGetUuid)                     \
  ENTRY(device_attribute, cuDeviceGetAttribute)           \
  ENTRY(device_count, cuDeviceGetCount)                   \
  ENTRY(link_attribute, cuDeviceGetP2PAttribute)          \
  ENTRY(capture_mode, cuThreadExchangeStreamCaptureMode)  \
  ENTRY(allocate, cuMemAlloc)                             \
  ENTRY(free, cuMemFree)                                  \
  ENTRY(allocate_host, cuMemHostAlloc)                    \
  ENTRY(free_host, cuMemFreeHost)                         \
  ENTRY(register_host, cuMemHostRegister)                 \
  ENTRY(unregister_host, cuMemHostUnregister)             \
  ENTRY(address_of_host, cuMemHostGetDevicePointer)       \
  ENTRY(copy, cuMemcpyAsync)                              \
  ENTRY(copy_2d, cuMemcpy2DAsync)                         \
  ENTRY(set_bytes, cuMemsetD8Async)                       \
  ENTRY(make_stream, cuStreamCreateWithPriority)          \
  ENTRY(destroy_stream, cuStreamDestroy)                  \
  ENTRY(await_stream, cuStreamSynchronize)                \
  ENTRY(query_stream, cuStreamQuery)                      \
  ENTRY(capture_state, cuStreamIsCapturing)               \
  ENTRY(wait_event, cuStreamWaitEvent)                    \
  ENTRY(write_value, cuStreamWriteValue64)                \
  ENTRY(make_event, cuEventCreate)                        \
  ENTRY(record_event, cuEventRecord)                      \
  ENTRY(query_event, cuEventQuery)                        \
  ENTRY(elapsed, cuEventElapsedTime)                      \
  ENTRY(destroy_event, cuEventDestroy)                    \
  ENTRY(load_image, cuModuleLoadData)                     \
  ENTRY(unload_image, cuModuleUnload)                     \
  ENTRY(begin_link, cuLinkCreate)                         \
  ENTRY(add_to_link, cuLinkAddData)                       \
  ENTRY(complete_link, cuLinkComplete)                    \
  ENTRY(end_link, cuLinkDestroy)                          \
  ENTRY(find_function, cuModuleGetFunction)               \
  ENTRY(load_function, cuFuncLoad)                        \
  ENTRY(launch_kernel, cuLaunchKernel)                    \
  ENTRY(make_graph, cuGraphCreate)                        \
  ENTRY(add_kernel_node, cuGraphAddKernelNode)            \
  ENTRY(make_executable, cuGraphInstantiate)              \
  ENTRY(set_kernel_node, cuGraphExecKernelNodeSetParams)  \
  ENTRY(upload_graph, cuGraphUpload)                      \
  ENTRY(launch_graph, cuGraphLaunch)                      \
  ENTRY(destroy_executable, cuGraphExecDestroy)           \
  ENTRY(destroy_graph, cuGraphDestroy)                    \
  ENTRY(ipc_export, cuIpcGetMemHandle)                    \
  ENTRY(ipc_open, cuIpcOpenMemHandle)                     \
  ENTRY(ipc_close, cuIpcCloseMemHandle)                   \
  ENTRY(chunk_granularity, cuMemGetAllocationGranularity) \
  ENTRY(make_chunk, cuMemCreate)                          \
  ENTRY(retain_chunk, cuMemRetainAllocationHandle)        \
  ENTRY(chunk_properties, cuMemGetAllocationPropertiesFromHandle) \
  ENTRY(chunk_export, cuMemExportToShareableHandle)       \
  ENTRY(chunk_import, cuMemImportFromShareableHandle)     \
  ENTRY(release_chunk, cuMemRelease)                      \
  ENTRY(reserve, cuMemAddressReserve)                     \
  ENTRY(unreserve, cuMemAddressFree)                      \
  ENTRY(map, cuMemMap)                                    \
  ENTRY(unmap, cuMemUnmap)                                \
  ENTRY(set_access, cuMemSetAccess)                       \
  ENTRY(get_access, cuMemGetAccess)

struct Driver {
#define GPU_FIELD(word, symbol) Entry<decltype(&symbol)> word;
  GPU_ENTRIES(GPU_FIELD)
#undef GPU_FIELD
  bool complete = false;  // It has all that a module cannot do without.

  Result copy_rows(CUdeviceptr to, CUdeviceptr from, const crossrail_rows& rows, CUstream stream) const {
    CUDA_MEMCPY2D how{};
    how.srcMemoryType = how.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    how.srcDevice = from;
    how.dstDevice = to;
    how.srcPitch = how.dstPitch = rows.pitch;
    how.WidthInBytes = rows.bytes;
    how.Height = rows.count;
    return copy_2d(&how, stream);
  }
};
const Driver& driver();

// Returns NULL for success, else what the driver calls it.
const char* text(Result result);

#define GPU_TRY(call)                                                                     \
  do {                                                                                    \
    if (const gpu::Result tried = (call); tried != gpu::kSuccess) return gpu::text(tried); \
  } while (0)

// Returns whether the program uses the device's primary context. Making one would take half a gigabyte.
inline bool primary_is_active(int device) {
  unsigned flags = 0;
  int active = 0;
  return driver().primary_state(device, &flags, &active) == kSuccess && active != 0;
}

// Without a primary context the program has made its own. It is the thread's context, if that is of this device.
inline Context own_context(int device) {
  Context now = nullptr;
  int of = -1;
  const bool there = driver().current_context(&now) == kSuccess && now != nullptr && driver().context_device(&of) == kSuccess;
  return there && of == device ? now : nullptr;
}

inline Address address(const void* pointer) { return reinterpret_cast<Address>(pointer); }
inline void* pointer(Address address) { return reinterpret_cast<void*>(address); }

// This is what the driver knows of a pointer at one stroke.
struct Facts {
  bool known = false;
  bool device = false;  // It is memory of a device, or managed memory.
  bool managed = false;
  int ordinal = -1;
  Context context = nullptr;
};
Facts facts_of(const void* pointer);
uint64_t buffer_id(const void* pointer);  // It is 0 if the driver does not know it.
// Memory is seen for the first time. A program's cudaMemcpy to it may have returned before its end (from pageable memory, or of a few
// bytes), and our streams do not wait for the program's. This waits for such copies, and tells the memory that those to come shall end
// before they return. Where the memory cannot be told (chunks, pools; the flag of contexts that would do waits for the device and spoils
// captures), that is looked at again at each use. It returns false there.
bool finish_copies(const void* pointer);
void look_at_copies(Context context);  // If it is null, it is the thread's own.
uint64_t block_id(const void* pointer);   // It is that of the physical memory behind it, or 0 if the driver does not tell.
bool ipc_capable(const void* pointer);
Pool pool_of(const void* pointer);

uint64_t identity_of(int device);
bool runs_processes_at_once(int device);  // Kernels of several processes run there at the same time.
int multiprocessors_of(int device);
bool writes_values(int device);  // Its streams write 64-bit words.
// Returns whether 128 bytes that a warp writes at once arrive at once at all devices that this one can reach. Links that do atomic
// operations do so (NVLink). Where only this device is shown to the program, devices that are made for a switch of such links do so.
bool whole_lines(int device);

// Returns whether what is put into the stream becomes part of a graph. It does no harm to the capture.
inline bool is_captured(Stream stream) {
  CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().capture_state(stream, &state) != kSuccess || state != CU_STREAM_CAPTURE_STATUS_NONE;
}

// This waits until all work of the current context is done. cuCtxSynchronize and cuCtxRecordEvent would spoil what the program captures,
// and what frees memory waits with the context locked, so that nobody can launch. Unloading an image waits without either. A mark is an
// image that is there for that. The function returns false where that cannot be had.
struct Marks {
  std::vector<Image> loaded;
  std::vector<char> image;  // It is the image that is loaded.
};
bool make_marks(Marks& marks);  // It makes as many as there shall be. It waits, as what frees memory does.
void await_idle(Marks& marks);  // It uses one up.

inline Result make_stream(Stream* stream, int priority) {
  return driver().make_stream(stream, CU_STREAM_NON_BLOCKING, priority);
}
inline int high_priority() {
  int least = 0, greatest = 0;
  return driver().context_priorities(&least, &greatest) == kSuccess ? greatest : 0;
}
inline Result make_event(Event* event) { return driver().make_event(event, CU_EVENT_DISABLE_TIMING); }
inline Result make_timed_event(Event* event) { return driver().make_event(event, CU_EVENT_DEFAULT); }

// These give host memory that the device can reach at `mapped`.
Result allocate_mapped(void** host, size_t bytes, void** mapped);
Result register_mapped(void* host, size_t bytes);

struct Launch {
  Function function;
  unsigned grid, threads;
  void* task;  // It is the one argument.
  size_t task_bytes;
};
Result launch(const Launch& launch, Stream stream);
Result add_node(Node* node, Graph graph, const Launch& launch);
Result set_node(Executable executable, Node node, const Launch& launch);

// Makes a chunk that can be shared, of at least `bytes`, which becomes its size.
Result make_chunk(Chunk* chunk, size_t* bytes, int device);
// These exchange file descriptors for chunks. The descriptor is -1 if the driver refuses.
bool chunk_is_shareable(Chunk chunk, int device);
Result export_chunk(Chunk chunk, int* descriptor);
Result import_chunk(int descriptor, Chunk* chunk);
Result allow_access(Address base, size_t bytes, int device);
Result open_ipc(const IpcHandle& handle, Address* mapped);

// While it lives, calls that are forbidden while a stream of the program is captured are allowed.
class Uncaptured {
 public:
  Uncaptured() { (void)driver().capture_mode(&mode_); }
  ~Uncaptured() { (void)driver().capture_mode(&mode_); }
  Uncaptured(const Uncaptured&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// While it lives, `wanted` is the thread's context. Nothing is done where it is already, or for null.
class Current {
 public:
  explicit Current(Context wanted) {
    if (wanted == nullptr) return;
    Context now = nullptr;
    result_ = driver().current_context(&now);
    if (result_ != kSuccess || now == wanted) return;
    result_ = driver().push_context(wanted);
    pushed_ = result_ == kSuccess;
  }
  ~Current() {
    Context popped = nullptr;
    if (pushed_) (void)driver().pop_context(&popped);
  }
  Current(const Current&) = delete;
  Result result() const { return result_; }

 private:
  Result result_ = kSuccess;
  bool pushed_ = false;
};

// Returns the kernels' code for load_image, or null in a module built without them.
const void* kernel_image();

}  // namespace gpu
