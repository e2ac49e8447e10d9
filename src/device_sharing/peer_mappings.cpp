#include "device_sharing/peer_mappings.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "device/device.h"

namespace crossrail {

PeerMappings::PeerMappings(DeviceLines* lines, ControlBlock& control, const Limits& limits)
    : lines_(lines),
      control_(control),
      limits_(limits),
      mapped_(static_cast<std::size_t>(control.node_size()) * DeviceLines::kExported),
      freed_by_(static_cast<std::size_t>(control.node_size())),
      bytes_of_(static_cast<std::size_t>(control.node_size())),
      unmapped_(limits.staged_uses) {
  DeviceLines& mine = lines_[control.node_rank()];
  mine.process = process_number();
  mine.number = random_number();
  mine.socket = descriptor_socket();
  mine.pid = getpid();
}

PeerMappings::~PeerMappings() {
  for (int entry = 0; entry < entries_; ++entry) drop(entry);
}

ParcelLabel PeerMappings::label(int owner, int entry, int receiver) const {
  const ExportedAllocation& its = lines_[owner].exported[entry];
  return {lines_[owner].number, static_cast<std::uint64_t>(receiver), static_cast<std::uint64_t>(entry), its.version.load(std::memory_order_relaxed)};
}

void PeerMappings::drop(int entry) {
  Own& own = own_[entry];
  close_descriptors(own.descriptors);
  if (own.list >= 0) ::close(own.list);
  if (own.pinned) --pins_;
  own = Own{};
}

// Asked for all of it: of several chunks a part is described as other memory.
bool PeerMappings::is_freed(int entry) const {
  const Own& own = own_[entry];
  if (own.used == 0) return false;
  crossrail_memory now{};
  device::module()->describe(own.memory.base, own.memory.bytes, &now);
  return now.allocation != own.memory.allocation || now.base != own.memory.base;
}

// Peers shall not hold it any longer.
void PeerMappings::drop_freed(int entry) {
  if (!is_freed(entry)) return;
  drop(entry);
  lines_[control_.node_rank()].exported[entry].version.fetch_add(1, std::memory_order_release);
  ++freed_;
}

void PeerMappings::look_at_all() {
  for (int entry = 0; entry < entries_; ++entry) drop_freed(entry);
}

std::uint64_t PeerMappings::begin_call() {
  // To ask takes some 0.2 us.
  constexpr int kCallsALook = 4, kEntriesALook = 32;
  if (++calls_ % kCallsALook != 0 || entries_ == 0) return freed_;
  for (int look = 0; look <= entries_ / kEntriesALook; ++look) {
    looked_ = (looked_ + 1) % entries_;
    drop_freed(looked_);
  }
  return freed_;
}

bool PeerMappings::can_pin(const crossrail_memory& memory) {
  const int entry = entry_of(memory);
  if (entry >= 0 && own_[entry].pinned) return true;
  if (entry < 0 && !unmapped_.may_be_mapped(memory)) return false;
  if (pins_ >= kMostPinned) look_at_all();
  return pins_ < kMostPinned;
}

void PeerMappings::pin(const ExportedSide& mine) {
  if (!own_[mine.entry].pinned) ++pins_;
  own_[mine.entry].pinned = true;
}

int PeerMappings::entry_of(const crossrail_memory& memory) const {
  for (int entry = 0; entry < entries_; ++entry) {
    const Own& own = own_[entry];
    if (own.used != 0 && own.memory.allocation == memory.allocation && own.memory.base == memory.base) return entry;
  }
  return -1;
}

int PeerMappings::free_entry() const {
  for (int entry = 0; entry < entries_; ++entry) {
    if (own_[entry].used == 0) return entry;
  }
  return entries_ < DeviceLines::kExported ? entries_ : -1;
}

// A free entry, else the one that has not been used for longest; not one of this very call.
int PeerMappings::entry_for(const crossrail_memory& memory) {
  int entry = free_entry();
  if (entry < 0) {
    look_at_all();
    entry = free_entry();
  }
  if (entry < 0) entry = oldest_entry();
  if (entry < 0) return -1;
  entries_ = std::max(entries_, entry + 1);
  drop(entry);
  own_[entry].memory = memory;
  ExportedAllocation& mine = lines_[control_.node_rank()].exported[entry];
  mine.allocation = memory.allocation;
  mine.base = reinterpret_cast<std::uint64_t>(memory.base);
  mine.version.fetch_add(1, std::memory_order_release);
  return entry;
}

int PeerMappings::oldest_entry() const {
  int oldest = -1;
  for (int one = 0; one < DeviceLines::kExported; ++one) {
    if (own_[one].pinned || own_[one].used == calls_) continue;
    if (oldest < 0 || own_[one].used < own_[oldest].used) oldest = one;
  }
  return oldest;
}

ExportedSide PeerMappings::export_side(const crossrail_memory& memory, const void* address) {
  int entry = entry_of(memory);
  if (entry < 0 && memory.shareable != 0) entry = entry_for(memory);
  if (entry < 0) return {};
  own_[entry].used = calls_;
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
    drop_mappings(peer);
  }
}

// What `owner` has dropped or given another entry.
void PeerMappings::drop_mappings(int owner) {
  for (int entry = 0; entry < DeviceLines::kExported; ++entry) {
    Mapped& one = mapped_[index(owner, entry)];
    if (one.version == 0 || one.version == lines_[owner].exported[entry].version.load(std::memory_order_acquire)) continue;
    forget(owner, entry);
  }
}

void PeerMappings::forget(int owner, int entry) {
  Mapped& one = mapped_[index(owner, entry)];
  bytes_of_[static_cast<std::size_t>(owner)] -= one.bytes;
  one = Mapped{};
}

void PeerMappings::keep(MappedSide side, const DeviceDescriptors& all) {
  for (int owner = 0; owner < control_.node_size(); ++owner) {
    const ExportedSide& its = all[static_cast<std::size_t>(owner)].side(side);
    if (its.residency == Residency::empty) continue;
    Mapped& one = mapped_[index(owner, its.entry)];
    bytes_of_[static_cast<std::size_t>(owner)] -= one.bytes;
    one.bytes = 0;
    if (owner == control_.node_rank()) pin(its);
  }
}

void PeerMappings::let_go(int owner, const ExportedSide& side) {
  forget(owner, side.entry);
  if (owner != control_.node_rank()) return;
  drop(side.entry);
  lines_[owner].exported[side.entry].version.fetch_add(1, std::memory_order_release);
}

void PeerMappings::end_call() {
  for (int owner = 0; owner < control_.node_size(); ++owner) {
    while (bytes_of_[static_cast<std::size_t>(owner)] > limits_.most_mapped_bytes) shrink(owner);
  }
}

// The mapping that has not been used for longest goes.
void PeerMappings::shrink(int owner) {
  int oldest = -1;
  for (int entry = 0; entry < DeviceLines::kExported; ++entry) {
    const Mapped& one = mapped_[index(owner, entry)];
    if (one.bytes > 0 && (oldest < 0 || one.used < mapped_[index(owner, oldest)].used)) oldest = entry;
  }
  forget(owner, oldest);
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
    const bool maps = peer != rank && lines_[peer].identity != 0;  // without a queue it does not
    if (maps) all = send_descriptors(lines_[peer].socket, label(rank, mine.entry, peer), own.descriptors).ok() && all;
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

// Own memory, and without a queue: only notes that all have been asked. All ranks count the same bytes of an owner.
Status PeerMappings::open(crossrail_queue* queue, int owner, const ExportedSide& side) {
  drop_mappings(owner);
  Mapped& one = mapped_[index(owner, side.entry)];
  one.version = side.version;
  one.used = calls_;
  one.bytes = lines_[owner].exported[side.entry].handle.bytes;
  bytes_of_[static_cast<std::size_t>(owner)] += one.bytes;
  if (owner == control_.node_rank() || queue == nullptr) return {};
  const Status mapped = map_one(queue, owner, side);
  if (!mapped.ok()) lines_[owner].exported[side.entry].refused.store(side.version, std::memory_order_release);
  return mapped;
}

Status PeerMappings::map(MappedSide side, const DeviceDescriptors& all, crossrail_queue* queue) {
  const auto of = [&](int rank) -> const ExportedSide& { return all[static_cast<std::size_t>(rank)].side(side); };
  bool some = false;
  for (int rank = 0; rank < control_.node_size(); ++rank) {
    if (of(rank).residency == Residency::empty) continue;
    some = some || fresh(rank, of(rank));
    mapped_[index(rank, of(rank).entry)].used = calls_;
  }
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
  if (worst != Code::ok) {
    hopeless_calls_ = next_hopeless_calls_;
    next_hopeless_calls_ *= 2;
  }
  return why.empty() ? failed(Code::unsupported, "another rank could not map device memory") : failure(Code::unsupported, "%s", why.c_str());
}

// After all have been asked: whether a peer has refused it, so that it is not exported again.
bool PeerMappings::refused(const ExportedSide& mine) {
  if (mine.residency == Residency::empty) return false;
  Own& own = own_[mine.entry];
  close_descriptors(own.descriptors);
  if (own.list >= 0) ::close(own.list);
  own.list = -1;
  if (lines_[control_.node_rank()].exported[mine.entry].refused.load(std::memory_order_acquire) != mine.version) return false;
  unmapped_.refused(own.memory);
  drop(mine.entry);
  return true;
}

}  // namespace crossrail
