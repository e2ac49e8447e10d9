#include "virtual_world/host_device.h"

#include "virtual_world/host_kernels.h"
#include "virtual_world/host_queue.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

struct Piece {
  std::byte* touchable;
  std::size_t bytes;
  std::uint64_t id;
  int descriptor;  // It is -1 where the piece was mapped from another rank.
  crossrail_memory_kind kind;
  bool shareable;
  bool ours;  // It belongs to the module, not to the program.
  bool chunks = false;
  int generation = 0;  // It is that of the context in which it was mapped.
};

struct Device {
  std::mutex mutex;
  std::map<std::uintptr_t, Piece> pieces;  // They are indexed by address.
  std::uint64_t ids = 0;
  std::size_t bytes = 0;
  host_device_options options{};
  std::atomic<int> maps{0}, queues_refused{0};
};

// Ranks that are processes share a device where HOST_DEVICE_SHARED is 1, and their kernels run at the same time where HOST_DEVICE_CONCURRENT is 1.
Device& device() {
  static Device& one = *[] {
    auto* const made = new Device;
    const char* const shared = std::getenv("HOST_DEVICE_SHARED");
    const char* const concurrent = std::getenv("HOST_DEVICE_CONCURRENT");
    if (shared != nullptr) made->options.devices = std::atoi(shared);
    if (concurrent != nullptr) made->options.concurrent = std::atoi(concurrent);
    return made;
  }();
  return one;
}

// Returns addresses that the processor cannot use. With HOST_DEVICE_AT=0x200000000000 they lie from there on, far from all other memory, as
// those of devices may.
void* reserve_addresses(std::size_t bytes) {
  static const char* const at = std::getenv("HOST_DEVICE_AT");
  static std::atomic<std::uintptr_t> next{at == nullptr ? 0 : std::strtoull(at, nullptr, 0)};
  constexpr std::size_t kBoundary = std::size_t{2} << 20;
  const std::uintptr_t address = at == nullptr ? 0 : next.fetch_add((bytes + kBoundary - 1) / kBoundary * kBoundary);
  return mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | (at == nullptr ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
}

// At the address of device memory the processor cannot touch it. The same memory lies elsewhere too.
void* map_piece(int descriptor, Piece piece) {
  void* const touchable = mmap(nullptr, piece.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  void* const address = piece.kind == CROSSRAIL_MEMORY_MANAGED ? mmap(nullptr, piece.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                                                               : reserve_addresses(piece.bytes);
  if (touchable == MAP_FAILED || address == MAP_FAILED) return nullptr;
  piece.touchable = static_cast<std::byte*>(touchable);
  const std::lock_guard lock(device().mutex);
  piece.id = ++device().ids;
  piece.generation = device().options.generation;
  device().pieces[reinterpret_cast<std::uintptr_t>(address)] = piece;
  return address;
}

void* make_piece(Piece piece) {
  {
    const std::lock_guard lock(device().mutex);
    if (device().options.most_bytes != 0 && device().bytes + piece.bytes > device().options.most_bytes) return nullptr;
    device().bytes += piece.bytes;
  }
  piece.descriptor = memfd_create("host device", MFD_CLOEXEC);
  if (piece.descriptor < 0 || ftruncate(piece.descriptor, static_cast<off_t>(piece.bytes)) != 0) return nullptr;
  return map_piece(piece.descriptor, piece);
}

void drop_piece(void* address) {
  const std::lock_guard lock(device().mutex);
  const auto found = device().pieces.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == device().pieces.end()) return;
  munmap(found->second.touchable, found->second.bytes);
  munmap(address, found->second.bytes);
  // What was mapped from another rank is that rank's memory.
  if (found->second.descriptor >= 0) {
    close(found->second.descriptor);
    device().bytes -= found->second.bytes;
  }
  device().pieces.erase(found);
}

// Finds the piece that holds `pointer`. It returns false for host memory.
bool find_piece(const void* pointer, std::uintptr_t& base, Piece& piece) {
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  const std::lock_guard lock(device().mutex);
  auto found = device().pieces.upper_bound(at);
  if (found == device().pieces.begin()) return false;
  --found;
  if (at >= found->first + found->second.bytes) return false;
  base = found->first;
  piece = found->second;
  return true;
}

}  // namespace

const host_device_options& crossrail::virtual_world::device_options() { return device().options; }

std::byte* crossrail::virtual_world::touch(const void* pointer) {
  std::uintptr_t base = 0;
  Piece piece{};
  if (!find_piece(pointer, base, piece)) return static_cast<std::byte*>(const_cast<void*>(pointer));
  if (piece.descriptor < 0 && piece.generation != device().options.generation) {
    std::fputs("host device: what another rank has was mapped in a context that is gone\n", stderr);
    std::abort();
  }
  return piece.touchable + (reinterpret_cast<std::uintptr_t>(pointer) - base);
}

bool crossrail::virtual_world::on_device(const void* pointer) {
  std::uintptr_t base = 0;
  Piece piece{};
  return find_piece(pointer, base, piece);
}

namespace {

void describe(const void* pointer, size_t bytes, crossrail_memory* memory) {
  std::uintptr_t base = 0;
  Piece piece{};
  *memory = {CROSSRAIL_MEMORY_HOST, 0, -1, nullptr, 0, nullptr, 0, 0};
  if (!find_piece(pointer, base, piece)) return;
  *memory = {piece.kind, piece.shareable ? 1 : 0, 0, nullptr, piece.id, reinterpret_cast<void*>(base), piece.bytes,
             static_cast<std::uint64_t>(device().options.generation)};
  // What lies in the first chunk is other memory than both.
  constexpr std::uint64_t kOther = std::uint64_t{1} << 40;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(pointer) + bytes, border = base + piece.bytes / 2;
  if (!piece.chunks || end > border) return;
  memory->allocation += kOther;
  memory->bytes = border - base;
}

const char* copy(const crossrail_rows* rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t row = 0; row < rows[i].count; ++row) {
      const size_t at = row * rows[i].pitch;
      std::memmove(crossrail::virtual_world::touch(static_cast<char*>(rows[i].to) + at),
                   crossrail::virtual_world::touch(static_cast<const char*>(rows[i].from) + at), rows[i].bytes);
    }
  }
  return nullptr;
}

const char* allocate(const crossrail_memory*, size_t bytes, void** memory) {
  *memory = make_piece({nullptr, bytes, 0, -1, CROSSRAIL_MEMORY_DEVICE, true, true});
  return *memory == nullptr ? "out of memory" : nullptr;
}

const char* release(void* memory) {
  drop_piece(memory);
  return nullptr;
}

const char* export_memory(const crossrail_memory* memory, crossrail_handle* handle, crossrail_chunk* chunks) {
  std::uintptr_t base = 0;
  Piece piece{};
  if (!find_piece(memory->base, base, piece) || !piece.shareable) return "not shareable";
  handle->kind = piece.ours ? 1 : 0;
  handle->chunk_count = 1;
  handle->bytes = memory->bytes;
  chunks[0] = {memory->bytes, dup(piece.descriptor), 0};
  return nullptr;
}

const char* open_memory(crossrail_queue*, const crossrail_handle* handle, const crossrail_chunk* chunks, void** mapped) {
  const host_device_options& options = device().options;
  if (options.refuse_all_maps != 0 || (options.refuse_maps != 0 && handle->kind == 0)) return "mapping refused";
  ++device().maps;
  // It keeps no descriptor, because peers map more pieces than a process may have open files.
  *mapped = map_piece(chunks[0].descriptor, {nullptr, handle->bytes, 0, -1, CROSSRAIL_MEMORY_DEVICE, false, true});
  return *mapped == nullptr ? "cannot be mapped" : nullptr;
}

}  // namespace

#define HOST_DEVICE_VISIBLE extern "C" __attribute__((visibility("default")))

HOST_DEVICE_VISIBLE void host_device_set(const host_device_options* options) {
  device().options = *options;
  device().queues_refused = 0;
}

HOST_DEVICE_VISIBLE void* host_device_alloc(size_t bytes, enum host_device_kind kind) {
  return make_piece({nullptr, bytes, 0, -1, kind == HOST_DEVICE_MANAGED ? CROSSRAIL_MEMORY_MANAGED : CROSSRAIL_MEMORY_DEVICE,
                     kind == HOST_DEVICE_PLAIN || kind == HOST_DEVICE_CHUNKS, false, kind == HOST_DEVICE_CHUNKS});
}

HOST_DEVICE_VISIBLE void host_device_free(void* memory) { drop_piece(memory); }

HOST_DEVICE_VISIBLE void* host_device_touchable(const void* memory) { return crossrail::virtual_world::touch(memory); }

HOST_DEVICE_VISIBLE int host_device_pieces(void) {
  const std::lock_guard lock(device().mutex);
  return static_cast<int>(device().pieces.size());
}

HOST_DEVICE_VISIBLE int host_device_maps(void) { return device().maps; }

HOST_DEVICE_VISIBLE int host_device_queue_allowed(void) { return ++device().queues_refused > device().options.refuse_queues ? 1 : 0; }

HOST_DEVICE_VISIBLE const crossrail_device_module* host_device_module(void) {
  namespace world = crossrail::virtual_world;
  static const crossrail_device_module module = {
      sizeof(crossrail_device_module), "host", describe, copy, allocate, release, export_memory, open_memory,
      world::open_queue, world::close_queue, world::open_pages, world::close_pages, world::supports, world::enqueue, world::sync, world::times};
  return &module;
}
