#include "transport/device_windows.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "device/device.h"

namespace crossrail {
namespace {

// A process maps an allocation once, however many of its communicators use it.
struct Allocation {
  std::uint64_t process, id, base, device;
  auto operator<=>(const Allocation&) const = default;
};
struct Mappings {
  std::mutex mutex;
  std::map<Allocation, std::weak_ptr<Mapping>> all;
};
Mappings& mappings_of_process() {
  static Mappings& mappings = *new Mappings;  // lives as long as the process
  return mappings;
}

// Whole allocations of a process that overlap cannot exist at the same time: the other one was freed,
// and drivers may refuse to map the new one as long as it is mapped.
void close_overlapping(Mappings& mappings, const Allocation& fresh, std::uint64_t bytes) {
  for (auto& [other, weak] : mappings.all) {
    if (other.process != fresh.process || other.device != fresh.device) continue;
    const std::shared_ptr<Mapping> mapping = weak.lock();
    if (mapping != nullptr && mapping->whole && other.base < fresh.base + bytes && fresh.base < other.base + mapping->bytes) mapping->close();
  }
}

struct Opening {
  const crossrail_chunk* chunks;
  std::shared_ptr<Mapping>* mapping;
};

Status map_once(crossrail_queue* queue, const Allocation& allocation, const crossrail_handle& handle, const Opening& opening) {
  Mappings& mappings = mappings_of_process();
  const std::lock_guard lock(mappings.mutex);
  std::erase_if(mappings.all, [](const auto& one) { return one.second.expired(); });
  const auto found = mappings.all.find(allocation);
  if (found != mappings.all.end()) *opening.mapping = found->second.lock();
  if (*opening.mapping != nullptr) return {};
  const bool whole = handle.chunk_count == 0;
  if (whole) close_overlapping(mappings, allocation, handle.bytes);
  void* mapped = nullptr;
  CROSSRAIL_TRY(device::answered(device::module()->open_memory(queue, &handle, opening.chunks, &mapped)));
  *opening.mapping = std::make_shared<Mapping>(static_cast<std::byte*>(mapped), handle.bytes, whole);
  mappings.all[allocation] = *opening.mapping;
  return {};
}

}  // namespace

void Mapping::close() {
  if (std::byte* const open = mapped.exchange(nullptr); open != nullptr) (void)device::module()->close_memory(open);
}

DeviceWindows::DeviceWindows(DeviceLines* lines, int node_rank, int node_size)
    : lines_(lines), node_rank_(node_rank), node_size_(node_size) {
  windows_.resize(static_cast<std::size_t>(node_size) * DeviceLines::kSlots);
  DeviceLines& mine = lines_[node_rank];
  mine.process = process_number();
  mine.board = random_number();
  mine.socket = descriptor_socket();
  mine.pid = getpid();
}

DeviceWindows::~DeviceWindows() {
  for (int slot = 0; slot < DeviceLines::kSlots; ++slot) drop(slot);
}

ParcelLabel DeviceWindows::label(int owner, int slot, int receiver) const {
  const DeviceSlot& its = lines_[owner].slot[slot];
  return {lines_[owner].board, static_cast<std::uint64_t>(receiver), static_cast<std::uint64_t>(slot), its.version.load(std::memory_order_relaxed)};
}

void DeviceWindows::drop(int slot) {
  Own& own = own_[slot];
  close_descriptors(own.descriptors);
  if (own.list >= 0) ::close(own.list);
  own = Own{};
}

bool DeviceWindows::is_freed(int slot) const {
  const Own& own = own_[slot];
  if (own.used == 0) return false;
  crossrail_memory now{};
  device::module()->describe(own.memory.base, 1, &now);
  return now.allocation != own.memory.allocation || now.base != own.memory.base;
}

// Peers shall not hold it any longer.
void DeviceWindows::drop_freed(int slot) {
  if (!is_freed(slot)) return;
  drop(slot);
  lines_[node_rank_].slot[slot].version.fetch_add(1, std::memory_order_release);
  ++freed_;
}

std::uint64_t DeviceWindows::look_for_freed() {
  drop_freed(static_cast<int>(++looks_ % DeviceLines::kSlots));
  return freed_;
}

int DeviceWindows::slot_of(const crossrail_memory& memory) {
  for (int slot = 0; slot < DeviceLines::kSlots; ++slot) {
    const Own& own = own_[slot];
    if (own.used != 0 && own.memory.allocation == memory.allocation && own.memory.base == memory.base) return slot;
  }
  return -1;
}

// Now that it is to be mapped: exports it, and sends its descriptors to all peers.
void DeviceWindows::send(const OfferedSide& mine) {
  Own& own = own_[mine.slot];
  DeviceSlot& slot = lines_[node_rank_].slot[mine.slot];
  own.descriptors.resize(CROSSRAIL_MOST_CHUNKS);
  slot.handle = crossrail_handle{};
  if (device::module()->export_memory(&own.memory, &slot.handle, own.descriptors.data()) != nullptr) slot.handle = crossrail_handle{};
  own.descriptors.resize(slot.handle.chunk_count);
  bool all = true;
  for (int peer = 0; peer < node_size_ && !own.descriptors.empty(); ++peer) {
    if (peer != node_rank_) all = send_descriptors(lines_[peer].socket, label(node_rank_, mine.slot, peer), own.descriptors).ok() && all;
  }
  if (!all) own.list = list_descriptors(own.descriptors);
  slot.list = own.list;
}

OfferedSide DeviceWindows::offer(const crossrail_memory& memory, const void* address) {
  OfferedSide offered;
  ++offers_;
  int slot = slot_of(memory);
  if (slot < 0) {
    if (memory.shareable == 0 || std::find(refused_.begin(), refused_.end(), memory.allocation) != refused_.end()) return offered;
    for (int one = 0; one < DeviceLines::kSlots; ++one) drop_freed(one);
    // A free slot, else the one that has not been used for longest; not one of this very call.
    for (int one = 0; one < DeviceLines::kSlots; ++one) {
      if (own_[one].pinned || (own_[one].used != 0 && own_[one].used + 1 >= offers_)) continue;
      if (slot < 0 || own_[one].used < own_[slot].used) slot = one;
    }
    if (slot < 0) return offered;
    drop(slot);
    own_[slot].memory = memory;
    DeviceSlot& mine = lines_[node_rank_].slot[slot];
    mine.allocation = memory.allocation;
    mine.base = reinterpret_cast<std::uint64_t>(memory.base);
    mine.version.fetch_add(1, std::memory_order_release);
  }
  own_[slot].used = offers_;
  offered.place = Place::device;
  offered.slot = static_cast<std::uint8_t>(slot);
  offered.version = lines_[node_rank_].slot[slot].version.load(std::memory_order_relaxed);
  offered.offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - static_cast<const std::byte*>(memory.base));
  return offered;
}

void DeviceWindows::pin(const OfferedSide& mine) { own_[mine.slot].pinned = true; }

// What `owner` has dropped or given another slot.
void DeviceWindows::drop_windows(int owner) {
  for (int slot = 0; slot < DeviceLines::kSlots; ++slot) {
    Window& window = windows_[index(owner, slot)];
    if (window.mapping == nullptr || window.version == lines_[owner].slot[slot].version.load(std::memory_order_acquire)) continue;
    window = Window{};
  }
}

Status DeviceWindows::map(crossrail_queue* queue, int owner, const OfferedSide& offered, Window& window) {
  const DeviceSlot& its = lines_[owner].slot[offered.slot];
  if (its.handle.bytes == 0) return failed(Code::system, "its owner cannot share it");
  Chunks chunks;
  if (its.handle.chunk_count > 0) {
    const Status taken = take_descriptors(label(owner, offered.slot, node_rank_), its.handle.chunk_count, chunks);
    if (!taken.ok()) CROSSRAIL_TRY(fetch_descriptors(static_cast<int>(lines_[owner].pid), static_cast<int>(its.list), its.handle.chunk_count, chunks));
  }
  const Allocation allocation{lines_[owner].process, its.allocation, its.base, device::module()->identity(queue)};
  const Status opened = map_once(queue, allocation, its.handle, {chunks.data(), &window.mapping});
  close_descriptors(chunks);
  return opened;
}

Status DeviceWindows::open(crossrail_queue* queue, int owner, const OfferedSide& offered) {
  Window& window = windows_[index(owner, offered.slot)];
  if (owner != node_rank_) drop_windows(owner);
  window.version = offered.version;
  if (owner == node_rank_) return {};
  const Status mapped = map(queue, owner, offered, window);
  if (!mapped.ok()) lines_[owner].slot[offered.slot].refused.store(offered.version, std::memory_order_release);
  return mapped;
}

bool DeviceWindows::refused(const OfferedSide& mine) {
  Own& own = own_[mine.slot];
  close_descriptors(own.descriptors);
  if (own.list >= 0) ::close(own.list);
  own.list = -1;
  if (lines_[node_rank_].slot[mine.slot].refused.load(std::memory_order_acquire) != mine.version) return false;
  refused_.push_back(own.memory.allocation);
  drop(mine.slot);
  return true;
}

}  // namespace crossrail
