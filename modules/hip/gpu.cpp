#include "gpu.h"

#include <unistd.h>

#include <chrono>
#include <cstring>

namespace gpu {
namespace {

template <class Value>
Value attribute(hipPointer_attribute which, const void* pointer) {
  Value value{};
  return driver().pointer_attribute(&value, which, address(pointer)) == kSuccess ? value : Value{};
}

hipMemAccessDesc access_for(int device) {
  hipMemAccessDesc access{};
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = device;
  access.flags = hipMemAccessFlagsProtReadWrite;
  return access;
}

void* as_shareable(int descriptor) { return reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)); }

// hipIpcGetMemHandle gives handles of such memory, too, which do not work.
bool mapped_by_program(const void* pointer) {
  if (driver().retain_chunk) {
    Chunk chunk{};
    if (driver().retain_chunk(&chunk, const_cast<void*>(pointer)) != kSuccess) return false;
    return driver().release_chunk(chunk) == kSuccess;
  }
  if (!driver().chunks_known) return false;
  const hipMemLocation here = access_for(facts_of(pointer).ordinal).location;
  unsigned long long access = 0;
  return driver().chunk_access(&access, &here, const_cast<void*>(pointer)) == kSuccess;
}

uint64_t mix(uint64_t hash, const char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3u;
  return hash;
}

}  // namespace

const Driver& driver() {
  static const Driver opened = open_driver();
  return opened;
}

void forget_error() {
  if (driver().last_error.at != nullptr) (void)driver().last_error.at();
}

const char* text(Result result) { return result == kSuccess ? nullptr : driver().error_text(result); }

// Ranks write to this memory while kernels of its owner look at it. A device that keeps other memory in its second cache until a kernel
// ends must be told so.
Result Driver::allocate(Address* made, size_t bytes) const {
  constexpr unsigned kFineGrained = 1, kUncached = 3;
  for (const unsigned flags : {kUncached, kFineGrained}) {
    if (allocate_as(made, bytes, flags) == kSuccess) return kSuccess;
  }
  return allocate_plain(made, bytes);
}

// A function is loaded in order to be asked about.
Result Driver::load_function(Function function) const {
  int registers = 0;
  return function_attribute(&registers, HIP_FUNC_ATTRIBUTE_NUM_REGS, function);
}

Facts facts_of(const void* pointer) {
  hipPointerAttribute_t told{};
  if (driver().pointer_attributes(&told, pointer) != kSuccess) return {};
  int kind = 0;
  std::memcpy(&kind, &told, sizeof kind);  // It is the first member, whose name has changed.
  const bool managed = told.isManaged != 0;
  return {true, managed || kind == driver().device_kind, managed, told.device, context_of(told.device)};
}

uint64_t buffer_id(const void* pointer) {
  return attribute<unsigned long long>(HIP_POINTER_ATTRIBUTE_BUFFER_ID, pointer);
}

bool finish_copies(const void*) {
  constexpr auto kLongest = std::chrono::milliseconds(5);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!is_captured(nullptr) && driver().query_stream(nullptr) == kNotReady && std::chrono::steady_clock::now() < end) continue;
  return true;
}

uint64_t block_id(const void* pointer) {
  constexpr auto kMemoryBlockId = static_cast<hipPointer_attribute>(20);  // It is NVIDIA's.
  return attribute<unsigned long long>(kMemoryBlockId, pointer);
}

// Memory without an id would not be known again once it is freed.
bool ipc_capable(const void* pointer) { return buffer_id(pointer) != 0 && !mapped_by_program(pointer); }

Pool pool_of(const void* pointer) { return attribute<Pool>(HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer); }

// AMD's devices have queues for several processes, but which of them run at the same time is not promised.
bool runs_processes_at_once(int) { return false; }

// Some devices have no id of their own, but all have a place.
uint64_t identity_of(int device) {
  hipUUID uuid{};
  char bus[64] = {};
  const bool named = driver().device_uuid(&uuid, device) == kSuccess;
  const bool placed = driver().device_bus(bus, static_cast<int>(sizeof bus), device) == kSuccess;
  if (!named && !placed) return static_cast<uint64_t>(device) + 1;
  const uint64_t hash = mix(0xcbf29ce484222325u, uuid.bytes, sizeof uuid.bytes);
  return mix(hash, bus, std::strlen(bus));
}

int multiprocessors_of(int device) {
  int count = 0;
  (void)driver().device_attribute(&count, hipDeviceAttributeMultiprocessorCount, device);
  return count > 0 ? count : 16;
}

Result allocate_mapped(void** host, size_t bytes, void** mapped) {
  constexpr unsigned kFlags = hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent;
  const Result made = driver().allocate_host(host, bytes, kFlags);
  if (made != kSuccess) return made;
  const Result found = driver().address_of_host(mapped, *host, 0);
  if (found != kSuccess) (void)driver().free_host(*host);
  return found;
}

Result register_mapped(void* host, size_t bytes) {
  return driver().register_host(host, bytes, hipHostRegisterPortable | hipHostRegisterMapped);
}

Result launch(const Launch& launch, Stream stream) {
  void* arguments[] = {launch.task};
  return driver().launch_kernel(launch.function, launch.grid, 1, 1, launch.threads, 1, 1, 0, stream, arguments, nullptr);
}

// Properties differ between versions of HIP, so the export itself is asked.
bool chunk_is_shareable(Chunk chunk, int) {
  int descriptor = -1;
  if (export_chunk(chunk, &descriptor) != kSuccess) return false;
  close(descriptor);
  return true;
}

Result export_chunk(Chunk chunk, int* descriptor) {
  return driver().chunk_export(descriptor, chunk, hipMemHandleTypePosixFileDescriptor, 0);
}

Result import_chunk(int descriptor, Chunk* chunk) {
  return driver().chunk_import(chunk, as_shareable(descriptor), hipMemHandleTypePosixFileDescriptor);
}

Result allow_access(Address base, size_t bytes, int device) {
  const hipMemAccessDesc access = access_for(device);
  return driver().set_access(base, bytes, &access, 1);
}

Result open_ipc(const IpcHandle& handle, Address* mapped) {
  return driver().ipc_open(mapped, handle, hipIpcMemLazyEnablePeerAccess);
}

}  // namespace gpu
