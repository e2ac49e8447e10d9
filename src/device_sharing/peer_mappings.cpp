#include "device_sharing/peer_mappings.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "device/device.h"

namespace crossrail {

PeerMappings::PeerMappings(DeviceLines* lines, ControlBlock& control)
    : lines_(lines),
      control_(control),
      mapped_(static_cast<std::size_t>(control.node_size()) * DeviceLines::kExported),
      freed_by_(static_cast<std::size_t>(control.node_size())) {
  DeviceLines& mine = lines_[control.node_rank()];
  mine.process = process_number();
  mine.number = random_number();
  mine.socket = descriptor_socket();
  mine.pid = getpid();
}

PeerMappings::~PeerMappings() {
  for (int entry = 0; entry < DeviceLines::kExported; ++entry) drop(entry);
}

ParcelLabel PeerMappings::label(int owner, int entry, int receiver) const {
  const ExportedAllocation& its = lines_[owner].exported[entry];
  return {lines_[owner].number, static_cast<std::uint64_t>(receiver), static_cast<std::uint64_t>(entry), its.version.load(std::memory_order_relaxed)};
}

void PeerMappings::drop(int entry) {
  Own& own = own_[entry];
  close_descriptors(own.descriptors);
  if (own.list >= 0) ::close(own.list);
  own = Own{};
}

bool PeerMappings::is_freed(int entry) const {
  const Own& own = own_[entry];
  if (own.used == 0) return false;
  crossrail_memory now{};
  device::module()->describe(own.memory.base, 1, &now);
  return now.allocation != own.memory.allocation || now.base != own.memory.base;
}

// Peers shall not hold it any longer.
void PeerMappings::drop_freed(int entry) {
  if (!is_freed(entry)) return;
  drop(entry);
  lines_[control_.node_rank()].exported[entry].version.fetch_add(1, std::memory_order_release);
  ++freed_;
}

std::uint64_t PeerMappings::look_for_freed() {
  drop_freed(static_cast<int>(++looks_ % DeviceLines::kExported));
  return freed_;
}

int PeerMappings::entry_of(const crossrail_memory& memory) const {
  for (int entry = 0; entry < DeviceLines::kExported; ++entry) {
    const Own& own = own_[entry];
    if (own.used != 0 && own.memory.allocation == memory.allocation && own.memory.base == memory.base) return entry;
  }
  return -1;
}

// A free entry, else the one that has not been used for longest; not one of this very call. -1: all are pinned.
int PeerMappings::entry_for(const crossrail_memory& memory) {
  for (int one = 0; one < DeviceLines::kExported; ++one) drop_freed(one);
  int entry = -1;
  for (int one = 0; one < DeviceLines::kExported; ++one) {
    if (own_[one].pinned || (own_[one].used != 0 && own_[one].used + 1 >= exports_)) continue;
    if (entry < 0 || own_[one].used < own_[entry].used) entry = one;
  }
  if (entry < 0) return -1;
  drop(entry);
  own_[entry].memory = memory;
  ExportedAllocation& mine = lines_[control_.node_rank()].exported[entry];
  mine.allocation = memory.allocation;
  mine.base = reinterpret_cast<std::uint64_t>(memory.base);
  mine.version.fetch_add(1, std::memory_order_release);
  return entry;
}

ExportedSide PeerMappings::export_side(const crossrail_memory& memory, const void* address) {
  ++exports_;
  int entry = entry_of(memory);
  if (entry < 0) {
    if (memory.shareable == 0 || std::find(refused_.begin(), refused_.end(), memory.allocation) != refused_.end()) return {};
    entry = entry_for(memory);
    if (entry < 0) return {};
  }
  own_[entry].used = exports_;
  ExportedSide side;
  side.residency = Residency::device;
  side.entry = static_cast<std::uint8_t>(entry);
  side.version = lines_[control_.node_rank()].exported[entry].version.load(std::memory_order_relaxed);
  side.offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - static_cast<const std::byte*>(memory.base));
  return side;
}

void PeerMappings::drop_freed_by_peers(const DeviceDescriptors& all) {
  for (int peer = 0; peer < control_.node_size(); ++peer) {
    const std::uint64_t now = all[static_cast<std::size_t>(peer)].freed;
    std::uint64_t& before = freed_by_[static_cast<std::size_t>(peer)];
    if (now == before) continue;
    before = now;
    if (peer != control_.node_rank()) drop_mappings(peer);
  }
}

// What `owner` has dropped or given another entry.
void PeerMappings::drop_mappings(int owner) {
  for (int entry = 0; entry < DeviceLines::kExported; ++entry) {
    Mapped& one = mapped_[index(owner, entry)];
    if (one.mapping == nullptr || one.version == lines_[owner].exported[entry].version.load(std::memory_order_acquire)) continue;
    one = Mapped{};
  }
}

// Now that it is to be mapped: exports it, and sends its descriptors to all peers.
void PeerMappings::hand_out(const ExportedSide& mine) {
  const int rank = control_.node_rank();
  Own& own = own_[mine.entry];
  ExportedAllocation& exported = lines_[rank].exported[mine.entry];
  own.descriptors.resize(CROSSRAIL_MOST_CHUNKS);
  exported.handle = crossrail_handle{};
  if (device::module()->export_memory(&own.memory, &exported.handle, own.descriptors.data()) != nullptr) exported.handle = crossrail_handle{};
  own.descriptors.resize(exported.handle.chunk_count);
  bool all = true;
  for (int peer = 0; peer < control_.node_size() && !own.descriptors.empty(); ++peer) {
    if (peer != rank) all = send_descriptors(lines_[peer].socket, label(rank, mine.entry, peer), own.descriptors).ok() && all;
  }
  if (!all) own.list = list_descriptors(own.descriptors);
  exported.list = own.list;
}

Status PeerMappings::map_one(crossrail_queue* queue, int owner, const ExportedSide& side) {
  const ExportedAllocation& its = lines_[owner].exported[side.entry];
  if (its.handle.bytes == 0) return failed(Code::system, "its owner cannot share it");
  Chunks chunks;
  if (its.handle.chunk_count > 0) {
    const Status taken = take_descriptors(label(owner, side.entry, control_.node_rank()), its.handle.chunk_count, chunks);
    if (!taken.ok()) CROSSRAIL_TRY(fetch_descriptors(static_cast<int>(lines_[owner].pid), static_cast<int>(its.list), its.handle.chunk_count, chunks));
  }
  const ForeignAllocation allocation{lines_[owner].process, its.allocation, its.base, device::module()->identity(queue)};
  const Status opened = map_once(allocation, {queue, its.handle, chunks.data()}, mapped_[index(owner, side.entry)].mapping);
  close_descriptors(chunks);
  return opened;
}

// Own memory: only notes that all have been asked.
Status PeerMappings::open(crossrail_queue* queue, int owner, const ExportedSide& side) {
  if (owner != control_.node_rank()) drop_mappings(owner);
  mapped_[index(owner, side.entry)].version = side.version;
  if (owner == control_.node_rank()) return {};
  const Status mapped = map_one(queue, owner, side);
  if (!mapped.ok()) lines_[owner].exported[side.entry].refused.store(side.version, std::memory_order_release);
  return mapped;
}

Status PeerMappings::map(MappedSide side, const DeviceDescriptors& all, crossrail_queue* queue) {
  const auto of = [&](int rank) -> const ExportedSide& { return all[static_cast<std::size_t>(rank)].side(side); };
  bool some = false;
  for (int rank = 0; rank < control_.node_size(); ++rank) some = some || fresh(rank, of(rank));
  if (!some) return {};
  const ExportedSide& own = of(control_.node_rank());
  if (fresh(control_.node_rank(), own)) hand_out(own);
  CROSSRAIL_TRY(control_.barrier());
  Status mine;
  std::string why;  // the thread's text may be another call's by the time that all have agreed
  for (int rank = 0; rank < control_.node_size(); ++rank) {
    if (!fresh(rank, of(rank))) continue;
    const Status opened = open(queue, rank, of(rank));
    if (opened.ok()) continue;
    mine = opened;
    why = opened.what;
  }
  Code worst = Code::ok;
  CROSSRAIL_TRY(control_.agree(mine.ok() ? Code::ok : Code::unsupported, worst));
  const bool own_refused = refused(own);
  if (worst == Code::ok) return {};
  // If even our own memory cannot be mapped, nothing can: all ranks hear of it.
  CROSSRAIL_TRY(control_.agree(own_refused && own.residency == Residency::staged ? Code::unsupported : Code::ok, worst));
  hopeless_ = worst != Code::ok;
  return why.empty() ? failed(Code::unsupported, "another rank could not map device memory") : failure(Code::unsupported, "%s", why.c_str());
}

// After all have been asked: whether a peer has refused it, so that it is not exported again.
bool PeerMappings::refused(const ExportedSide& mine) {
  Own& own = own_[mine.entry];
  close_descriptors(own.descriptors);
  if (own.list >= 0) ::close(own.list);
  own.list = -1;
  if (lines_[control_.node_rank()].exported[mine.entry].refused.load(std::memory_order_acquire) != mine.version) return false;
  refused_.push_back(own.memory.allocation);
  drop(mine.entry);
  return true;
}

}  // namespace crossrail
