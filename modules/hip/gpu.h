// This is the device as the host side of a module sees it, in HIP's words: types, the runtime's entry points, and what is more than one
// call. An entry that an old runtime lacks says "not supported" when called. A context is a device here: HIP's own contexts are going away,
// and do not put back what was before.
#pragma once

#if defined(__HIP_PLATFORM_NVIDIA__)
#include "nvidia.h"
#else
#include <hip/hip_runtime_api.h>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "crossrail/device_module.h"

namespace gpu {

inline constexpr const char* kName = "hip";

struct Device;
using Result = hipError_t;
using Context = Device*;  // It is ordinal + 1, as context_of explains.
using Stream = hipStream_t;
using Event = hipEvent_t;
using Image = hipModule_t;
using Function = hipFunction_t;
using Graph = void*;
using Node = void*;
using Executable = void*;
using Chunk = hipMemGenericAllocationHandle_t;
using Pool = hipMemPool_t;
using Address = uintptr_t;
using IpcHandle = hipIpcMemHandle_t;

inline constexpr Result kSuccess = hipSuccess;
inline constexpr Result kNotReady = hipErrorNotReady;
inline constexpr Result kNotSupported = hipErrorNotSupported;
inline constexpr Result kGone = hipErrorContextIsDestroyed;
inline constexpr Result kAlreadyRegistered = hipErrorHostMemoryAlreadyRegistered;

inline Address address(const void* pointer) { return reinterpret_cast<Address>(pointer); }
inline void* pointer(Address address) { return reinterpret_cast<void*>(address); }
inline Context context_of(int device) { return static_cast<Context>(pointer(static_cast<Address>(device + 1))); }
inline int ordinal_of(Context context) { return static_cast<int>(address(context)) - 1; }

// HIP has addresses as void*, but some as integers for NVIDIA's devices.
template <class Wanted, class Given>
Wanted as(Given given) {
  if constexpr (std::is_convertible_v<Given, Wanted>) {
    return static_cast<Wanted>(given);
  } else if constexpr (std::is_integral_v<Given>) {
    return reinterpret_cast<Wanted>(static_cast<Address>(given));
  } else {
    return reinterpret_cast<Wanted>(given);
  }
}

// The program must not find the error of a call of ours in hipGetLastError.
void forget_error();

template <class Signature>
struct Entry;
template <class... Wanted>
struct Entry<Result(Wanted...)> {
  Result (*at)(Wanted...) = nullptr;
  template <class... Given>
  Result operator()(Given... given) const {
    if (at == nullptr) return kNotSupported;
    const Result result = at(as<Wanted>(given)...);
    if (result != kSuccess) forget_error();
    return result;
  }
  explicit operator bool() const { return at != nullptr; }
};

// An entry has our word, HIP's word and HIP's arguments. Old headers lack some arguments, and others have a second form.
#define GPU_ENTRIES(ENTRY)                                                                          \
  ENTRY(last_error, hipGetLastError)                                                                \
  ENTRY(pointer_attribute, hipPointerGetAttribute, void*, hipPointer_attribute, hipDeviceptr_t)     \
  ENTRY(pointer_attributes, hipPointerGetAttributes, hipPointerAttribute_t*, const void*)           \
  ENTRY(address_range, hipMemGetAddressRange, hipDeviceptr_t*, size_t*, hipDeviceptr_t)             \
  ENTRY(current_device, hipGetDevice, int*)                                                         \
  ENTRY(use_device, hipSetDevice, int)                                                              \
  ENTRY(device_uuid, hipDeviceGetUuid, hipUUID*, hipDevice_t)                                       \
  ENTRY(device_bus, hipDeviceGetPCIBusId, char*, int, int)                                          \
  ENTRY(device_attribute, hipDeviceGetAttribute, int*, hipDeviceAttribute_t, int)                   \
  ENTRY(priorities, hipDeviceGetStreamPriorityRange, int*, int*)                                    \
  ENTRY(capture_mode, hipThreadExchangeStreamCaptureMode, hipStreamCaptureMode*)                    \
  ENTRY(allocate_plain, hipMalloc, void**, size_t)                                                  \
  ENTRY(allocate_as, hipExtMallocWithFlags, void**, size_t, unsigned)                               \
  ENTRY(free, hipFree, void*)                                                                       \
  ENTRY(allocate_host, hipHostMalloc, void**, size_t, unsigned)                                     \
  ENTRY(free_host, hipHostFree, void*)                                                              \
  ENTRY(register_host, hipHostRegister, void*, size_t, unsigned)                                    \
  ENTRY(unregister_host, hipHostUnregister, void*)                                                  \
  ENTRY(address_of_host, hipHostGetDevicePointer, void**, void*, unsigned)                          \
  ENTRY(copy_as, hipMemcpyAsync, void*, const void*, size_t, hipMemcpyKind, hipStream_t)            \
  ENTRY(copy_2d, hipMemcpy2DAsync, void*, size_t, const void*, size_t, size_t, size_t, hipMemcpyKind, hipStream_t) \
  ENTRY(set_bytes, hipMemsetAsync, void*, int, size_t, hipStream_t)                                 \
  ENTRY(open_stream, hipStreamCreateWithPriority, hipStream_t*, unsigned, int)                      \
  ENTRY(destroy_stream, hipStreamDestroy, hipStream_t)                                              \
  ENTRY(await_stream, hipStreamSynchronize, hipStream_t)                                            \
  ENTRY(query_stream, hipStreamQuery, hipStream_t)                                                  \
  ENTRY(capture_state, hipStreamIsCapturing, hipStream_t, hipStreamCaptureStatus*)                  \
  ENTRY(wait_event, hipStreamWaitEvent, hipStream_t, hipEvent_t, unsigned)                          \
  ENTRY(write_value, hipStreamWriteValue64, hipStream_t, void*, uint64_t, unsigned)                 \
  ENTRY(open_event, hipEventCreateWithFlags, hipEvent_t*, unsigned)                                 \
  ENTRY(record_event, hipEventRecord, hipEvent_t, hipStream_t)                                      \
  ENTRY(query_event, hipEventQuery, hipEvent_t)                                                     \
  ENTRY(elapsed, hipEventElapsedTime, float*, hipEvent_t, hipEvent_t)                               \
  ENTRY(destroy_event, hipEventDestroy, hipEvent_t)                                                 \
  ENTRY(load_image, hipModuleLoadData, hipModule_t*, const void*)                                   \
  ENTRY(find_function, hipModuleGetFunction, hipFunction_t*, hipModule_t, const char*)              \
  ENTRY(function_attribute, hipFuncGetAttribute, int*, hipFunction_attribute, hipFunction_t)        \
  ENTRY(launch_kernel, hipModuleLaunchKernel, hipFunction_t, unsigned, unsigned, unsigned, unsigned, \
        unsigned, unsigned, unsigned, hipStream_t, void**, void**)                                  \
  ENTRY(ipc_export, hipIpcGetMemHandle, hipIpcMemHandle_t*, void*)                                  \
  ENTRY(ipc_open, hipIpcOpenMemHandle, void**, hipIpcMemHandle_t, unsigned)                         \
  ENTRY(ipc_close, hipIpcCloseMemHandle, void*)                                                     \
  ENTRY(chunk_access, hipMemGetAccess, unsigned long long*, const hipMemLocation*, void*)           \
  ENTRY(retain_chunk, hipMemRetainAllocationHandle, Chunk*, void*)                                  \
  ENTRY(chunk_export, hipMemExportToShareableHandle, void*, Chunk, hipMemAllocationHandleType, unsigned long long) \
  ENTRY(chunk_import, hipMemImportFromShareableHandle, Chunk*, void*, hipMemAllocationHandleType)   \
  ENTRY(release_chunk, hipMemRelease, Chunk)                                                        \
  ENTRY(reserve, hipMemAddressReserve, void**, size_t, size_t, void*, unsigned long long)           \
  ENTRY(unreserve, hipMemAddressFree, void*, size_t)                                                \
  ENTRY(map, hipMemMap, void*, size_t, size_t, Chunk, unsigned long long)                           \
  ENTRY(unmap, hipMemUnmap, void*, size_t)                                                          \
  ENTRY(set_access, hipMemSetAccess, void*, size_t, const hipMemAccessDesc*, size_t)

struct Driver {
#define GPU_FIELD(word, symbol, ...) Entry<Result(__VA_ARGS__)> word;
  GPU_ENTRIES(GPU_FIELD)
#undef GPU_FIELD
  const char* (*error_text)(Result) = nullptr;
  bool complete = false;      // It has all that a module cannot do without.
  int device_kind = 1;        // pointer_attributes calls a device's memory this: 1 up to HIP 5, then 2.
  bool chunks_known = false;  // chunk_access tells memory that the program has mapped itself from other memory.

  Result context_id(Context, unsigned long long*) const { return kNotSupported; }
  Result context_device(int* device) const { return current_device(device); }
  Result primary_context(Context* context, int device) const { return *context = context_of(device), kSuccess; }
  Result allocate(Address* made, size_t bytes) const;
  Result copy(Address to, Address from, size_t bytes, Stream stream) const {
    return copy_as(to, from, bytes, hipMemcpyDefault, stream);
  }
  Result copy_rows(Address to, Address from, const crossrail_rows& rows, Stream stream) const {
    return copy_2d(to, rows.pitch, from, rows.pitch, rows.bytes, rows.count, hipMemcpyDefault, stream);
  }
  Result load_function(Function function) const;
  // A graph's kernel is one of the program's own for HIP, not one of an image, so there are plain launches instead.
  Result make_graph(Graph*, unsigned) const { return kNotSupported; }
  Result make_executable(Executable*, Graph, unsigned long long) const { return kNotSupported; }
  Result launch_graph(Executable, Stream) const { return kNotSupported; }
  Result destroy_executable(Executable) const { return kNotSupported; }
  Result destroy_graph(Graph) const { return kNotSupported; }
};
Driver open_driver();  // It is in amd.cpp and nvidia.cpp.
const Driver& driver();
// A context is no more than a device here.
inline bool primary_is_active(int) { return true; }
inline Context own_context(int) { return nullptr; }

// Returns NULL for success, else what the driver calls it.
const char* text(Result result);

#define GPU_TRY(call)                                                                     \
  do {                                                                                    \
    if (const gpu::Result tried = (call); tried != gpu::kSuccess) return gpu::text(tried); \
  } while (0)

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
// Memory is seen for the first time. This waits, not long, for what the program has put into the default stream.
bool finish_copies(const void* pointer);  // It is true if there is no need to look again.
inline void look_at_copies(Context) {}
uint64_t block_id(const void* pointer);   // It is that of the physical memory behind it, or 0 if it is not told.
bool ipc_capable(const void* pointer);
Pool pool_of(const void* pointer);

uint64_t identity_of(int device);
bool runs_processes_at_once(int device);  // Kernels of several processes run there at the same time.
int multiprocessors_of(int device);
inline bool writes_values(int) { return static_cast<bool>(driver().write_value); }
inline bool whole_lines(int) { return false; }  // It is not known.

// Returns whether what is put into the stream becomes part of a graph.
inline bool is_captured(Stream stream) {
  hipStreamCaptureStatus state = hipStreamCaptureStatusNone;
  const Result result = driver().capture_state(stream, &state);
  return result != kNotSupported && (result != kSuccess || state != hipStreamCaptureStatusNone);
}

// Nothing is known here that waits for a device without harm.
struct Marks {
  std::vector<Image> loaded;
};
inline bool make_marks(Marks&) { return false; }
inline void await_idle(Marks&) {}

inline Result make_stream(Stream* stream, int priority) {
  return driver().open_stream(stream, hipStreamNonBlocking, priority);
}
inline int high_priority() {
  int least = 0, greatest = 0;
  return driver().priorities(&least, &greatest) == kSuccess ? greatest : 0;
}
inline Result make_event(Event* event) { return driver().open_event(event, hipEventDisableTiming); }
inline Result make_timed_event(Event* event) { return driver().open_event(event, hipEventDefault); }

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
inline Result add_node(Node*, Graph, const Launch&) { return kNotSupported; }
inline Result set_node(Executable, Node, const Launch&) { return kNotSupported; }

inline Result make_chunk(Chunk*, size_t*, int) { return kNotSupported; }
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
  hipStreamCaptureMode mode_ = hipStreamCaptureModeRelaxed;
};

// While it lives, `wanted` is the thread's device. Nothing is done where it is already, or for null.
class Current {
 public:
  explicit Current(Context wanted) {
    if (wanted == nullptr) return;
    result_ = driver().current_device(&before_);
    if (result_ != kSuccess || context_of(before_) == wanted) return;
    result_ = driver().use_device(ordinal_of(wanted));
    changed_ = result_ == kSuccess;
  }
  ~Current() {
    if (changed_) (void)driver().use_device(before_);
  }
  Current(const Current&) = delete;
  Result result() const { return result_; }

 private:
  Result result_ = kSuccess;
  int before_ = -1;
  bool changed_ = false;
};

// Returns the kernels' code for load_image, or null in a module built without them.
const void* kernel_image();

}  // namespace gpu
