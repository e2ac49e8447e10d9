#include "gpu.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

namespace gpu {
namespace {

Driver open_driver() {
  Driver driver;
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return driver;
#define GPU_SYMBOL(symbol) #symbol
#define GPU_FIND(word, symbol) driver.word.at = reinterpret_cast<decltype(driver.word.at)>(dlsym(library, GPU_SYMBOL(symbol)));
  GPU_ENTRIES(GPU_FIND)
#undef GPU_FIND
#undef GPU_SYMBOL
  // Drivers before CUDA 13 have this name.
  if (!driver.elapsed) driver.elapsed.at = reinterpret_cast<decltype(driver.elapsed.at)>(dlsym(library, "cuEventElapsedTime"));
  driver.complete = driver.error_text && driver.pointer_attributes &&
                    driver.current_context && driver.push_context && driver.pop_context && driver.context_device &&
                    driver.primary_context && driver.copy && driver.make_stream && driver.await_stream;
  return driver;
}

template <class Value>
Value attribute(CUpointer_attribute which, const void* pointer) {
  // It does not call cuPointerGetAttribute, which fails if the driver does not know the pointer.
  Value value{};
  void* values[] = {&value};
  return driver().pointer_attributes(1, &which, values, address(pointer)) == kSuccess ? value : Value{};
}

constexpr CUmemAccessDesc access_for(int device) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

unsigned long long access_of(const void* pointer, int device) {
  const CUmemLocation location = access_for(device).location;
  unsigned long long flags = 0;
  // The driver does not tell the access to memory of pools, so they get none.
  return driver().get_access(&flags, &location, address(pointer)) == kSuccess ? flags : static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

// Memory that the program has mapped itself has no context, and at this address perhaps only the thread's own device reaches it. Memory of
// a pool has none either, and its device may have no context in this process.
void find_who_reaches(const void* pointer, Facts& facts) {
  Context now = nullptr;
  int device = -1;
  if (driver().current_context(&now) != kSuccess || now == nullptr || driver().context_device(&device) != kSuccess) return;
  if (device == facts.ordinal) return;
  const bool used_there = primary_is_active(facts.ordinal);
  if (used_there && access_of(pointer, device) == CU_MEM_ACCESS_FLAGS_PROT_NONE) return;
  if (used_there && access_of(pointer, facts.ordinal) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return;
  facts.ordinal = device;
  facts.context = now;
}

// The program can map memory of the host that no processor may touch (cuMemCreate on a NUMA node, with access for devices alone). The driver calls it
// host memory all the same. Whether the processor may touch it is asked of the kernel, which answers without a signal.
bool only_devices_touch(const void* pointer) {
  Chunk chunk{};
  if (driver().retain_chunk(&chunk, const_cast<void*>(pointer)) != kSuccess) return false;
  (void)driver().release_chunk(chunk);
  char byte = 0;
  iovec here{&byte, 1}, there{const_cast<void*>(pointer), 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT;
}

// Such memory is used by the thread's own device.
void make_memory_of_this_device(Facts& facts) {
  Context now = nullptr;
  int device = -1;
  if (driver().current_context(&now) != kSuccess || now == nullptr || driver().context_device(&device) != kSuccess) return;
  facts.device = true;
  facts.ordinal = device;
  facts.context = now;
}

void* as_shareable(int descriptor) { return reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)); }

CUDA_KERNEL_NODE_PARAMS node_of(const Launch& launch, void** arguments) {
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = launch.function;
  node.gridDimX = launch.grid;
  node.blockDimX = launch.threads;
  node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = arguments;
  return node;
}

}  // namespace

const Driver& driver() {
  static const Driver opened = open_driver();
  return opened;
}

const char* text(Result result) {
  if (result == kSuccess) return nullptr;
  const char* found = nullptr;
  if (driver().error_text(result, &found) == kSuccess && found != nullptr) return found;
  static thread_local char number[64];
  std::snprintf(number, sizeof number, "error %d of the driver", static_cast<int>(result));
  return number;
}

Facts facts_of(const void* pointer) {
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  Context context = nullptr;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
  void* values[] = {&type, &managed, &ordinal, &context};
  if (driver().pointer_attributes(4, wanted, values, address(pointer)) != kSuccess || type == 0) return {};
  Facts facts{true, type == CU_MEMORYTYPE_DEVICE, managed != 0, ordinal, context};
  if (facts.device && !facts.managed && context == nullptr) find_who_reaches(pointer, facts);
  if (!facts.device && !facts.managed && only_devices_touch(pointer)) make_memory_of_this_device(facts);
  return facts;
}

uint64_t buffer_id(const void* pointer) {
  return attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer);
}

namespace {

using Clock = std::chrono::steady_clock;

// Streams that are captured have no work, and asking the default one while others are captured would spoil that. Another thread may begin a
// capture between the two questions, so they are asked as seldom as possible, not all the time.
bool default_streams_end(Clock::time_point limit) {
  const Uncaptured uncaptured;
  for (const Stream stream : {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    for (Clock::duration pause = std::chrono::microseconds(5); !is_captured(stream) && driver().query_stream(stream) == kNotReady; pause *= 2) {
      const Clock::time_point next = std::min(Clock::now() + pause, limit);
      while (Clock::now() < next) std::this_thread::yield();
      if (next == limit) return false;
    }
  }
  return true;
}

}  // namespace

// A copy takes a few microseconds, but milliseconds where processes take turns at a device. Streams that are busy for long have kernels to
// run. Waits for them become shorter and shorter, until something ends in time again. Within a call of ours, which asks about several
// pieces of memory of a context, once is enough.
void look_at_copies(Context context) {
  constexpr Clock::duration kShortestCopy = std::chrono::microseconds(4);
  constexpr Clock::duration kLeast = std::chrono::microseconds(100), kMost = std::chrono::milliseconds(100);
  static thread_local Clock::time_point looked;
  static thread_local Context looked_in = nullptr;
  static thread_local Clock::duration patience = kMost;
  const Clock::time_point now = Clock::now();
  if (looked_in == context && now - looked < kShortestCopy) return;
  looked = now;
  looked_in = context;
  const Current current(context);
  const bool ended = default_streams_end(now + patience);
  patience = ended ? std::clamp(4 * (Clock::now() - now), patience, kMost) : std::max(patience / 2, kLeast);
}

// The attribute is not set before copies under way have ended. For memory of pools it is set, too, to no effect.
bool finish_copies(const void* pointer) {
  unsigned on = 1;
  if (pool_of(pointer) == nullptr && driver().set_pointer_attribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address(pointer)) == kSuccess) return true;
  look_at_copies(nullptr);
  return false;
}

uint64_t block_id(const void* pointer) {
  constexpr auto kMemoryBlockId = static_cast<CUpointer_attribute>(20);  // It is there from CUDA 12.5 on.
  static const bool known = [&] {
    uint64_t id = 0;
    void* ids[] = {&id};
    CUpointer_attribute wanted = kMemoryBlockId;
    return driver().pointer_attributes(1, &wanted, ids, address(pointer)) == kSuccess;
  }();
  return known ? attribute<unsigned long long>(kMemoryBlockId, pointer) : 0;
}

bool ipc_capable(const void* pointer) {
  return (attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pointer) & 0xff) != 0;
}

Pool pool_of(const void* pointer) { return attribute<Pool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer); }

bool runs_processes_at_once(int device) {
  constexpr auto kMpsEnabled = static_cast<CUdevice_attribute>(133);  // It is there from CUDA 12.5 on.
  int enabled = 0;
  return driver().device_attribute(&enabled, kMpsEnabled, device) == kSuccess && enabled != 0;
}

uint64_t identity_of(int device) {
  CUuuid uuid{};
  if (driver().device_uuid(&uuid, device) != kSuccess) return static_cast<uint64_t>(device) + 1;
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : uuid.bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

static int attribute_of(int device, CUdevice_attribute which, int otherwise = 0) {
  int value = 0;
  return driver().device_attribute(&value, which, device) == kSuccess ? value : otherwise;
}

int multiprocessors_of(int device) { return attribute_of(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16); }

bool writes_values(int device) { return driver().write_value && attribute_of(device, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS) != 0; }

bool whole_lines(int device) {
  int count = 0, peers = 0;
  if (driver().device_count(&count) != kSuccess) return false;
  for (int peer = 0; peer < count; ++peer) {
    int reached = 0, atomic = 0;
    if (peer == device || driver().link_attribute(&reached, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device, peer) != kSuccess || reached == 0) continue;
    ++peers;
    if (driver().link_attribute(&atomic, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, device, peer) != kSuccess || atomic == 0) return false;
  }
  return peers > 0 || attribute_of(device, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) != 0;
}

Result allocate_mapped(void** host, size_t bytes, void** mapped) {
  const Result made = driver().allocate_host(host, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (made != kSuccess) return made;
  Address reached{};
  const Result found = driver().address_of_host(&reached, *host, 0);
  if (found != kSuccess) (void)driver().free_host(*host);
  *mapped = pointer(reached);
  return found;
}

Result register_mapped(void* host, size_t bytes) {
  return driver().register_host(host, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
}

Result launch(const Launch& launch, Stream stream) {
  void* arguments[] = {launch.task};
  return driver().launch_kernel(launch.function, launch.grid, 1, 1, launch.threads, 1, 1, 0, stream, arguments, nullptr);
}

Result add_node(Node* node, Graph graph, const Launch& launch) {
  void* arguments[] = {launch.task};
  const CUDA_KERNEL_NODE_PARAMS wanted = node_of(launch, arguments);
  return driver().add_kernel_node(node, graph, nullptr, 0, &wanted);
}

Result set_node(Executable executable, Node node, const Launch& launch) {
  void* arguments[] = {launch.task};
  const CUDA_KERNEL_NODE_PARAMS wanted = node_of(launch, arguments);
  return driver().set_kernel_node(executable, node, &wanted);
}

Result make_chunk(Chunk* chunk, size_t* bytes, int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  // Network adapters may then read and write it by themselves.
  properties.allocFlags.gpuDirectRDMACapable = attribute_of(device, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED) != 0 ? 1 : 0;
  size_t unit = 0;
  const Result found = driver().chunk_granularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (found != kSuccess) return found;
  *bytes = (*bytes + unit - 1) / unit * unit;
  return driver().make_chunk(chunk, *bytes, &properties, 0);
}

bool chunk_is_shareable(Chunk chunk, int device) {
  CUmemAllocationProp properties{};
  if (driver().chunk_properties(&properties, chunk) != kSuccess) return false;
  return (properties.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0 &&
         properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE && properties.location.id == device;
}

Result export_chunk(Chunk chunk, int* descriptor) {
  return driver().chunk_export(descriptor, chunk, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

Result import_chunk(int descriptor, Chunk* chunk) {
  return driver().chunk_import(chunk, as_shareable(descriptor), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

Result allow_access(Address base, size_t bytes, int device) {
  const CUmemAccessDesc access = access_for(device);
  return driver().set_access(base, bytes, &access, 1);
}

Result open_ipc(const IpcHandle& handle, Address* mapped) {
  return driver().ipc_open(mapped, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

}  // namespace gpu
