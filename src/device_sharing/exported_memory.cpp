// This is the part of PeerMappings that deals with what this rank exports.

#include <unistd.h>

#include <algorithm>

#include "device/device.h"
#include "device_sharing/peer_mappings.h"

namespace crossrail {

void PeerMappings::drop(int entry) {
  Own& own = own_[entry];
  close_descriptors(own.descriptors);
  if (own.list >= 0) ::close(own.list);
  if (own.pinned) --pins_;
  if (own.used != 0) entries_of_.erase({own.memory.allocation, own.memory.base});
  if (own.watched) freed_memory::forget(this, &own);
  own = Own{};
}

// Withdraws an entry, so that peers hold it no longer.
void PeerMappings::withdraw(int entry) {
  drop(entry);
  const int rank = control_.node_rank();
  const std::uint64_t version = region_.exported(rank, entry).version.fetch_add(1, std::memory_order_release);
  region_.withdrawn(rank, withdrawn_++).store(version << 12 | static_cast<std::uint64_t>(entry), std::memory_order_relaxed);
}

void PeerMappings::drop_freed(int entry) {
  if (own_[entry].used != 0 && freed_memory::is_freed(own_[entry].memory)) withdraw(entry);
}

void PeerMappings::look_at_all() {
  for (int entry = 0; entry < entries_; ++entry) drop_freed(entry);
}

void PeerMappings::begin_call() {
  // Asking takes some 0.2 us.
  constexpr int kCallsALook = 4, kEntriesALook = 32, kMostLooks = 8;
  if (++calls_ % kCallsALook != 0 || entries_ == 0) return;
  for (int look = 0; look < std::min(entries_ / kEntriesALook + 1, kMostLooks); ++look) {
    looked_ = (looked_ + 1) % entries_;
    drop_freed(looked_);
  }
}

bool PeerMappings::can_pin(const crossrail_memory& memory) {
  const int entry = entry_of(memory);
  if (entry >= 0 && own_[entry].pinned) return true;
  if (entry < 0 && !unmapped_.may_be_mapped(memory)) return false;
  if (pins_ >= most_pinned()) look_at_all();
  return pins_ < most_pinned();
}

bool PeerMappings::is_mapped(int entry) const { return entry >= 0 && mapped_[index(control_.node_rank(), entry)].version != 0; }

bool PeerMappings::is_idle(int entry) const {
  constexpr std::uint64_t kIdleCalls = 2048;
  return entry >= 0 && calls_ - own_[entry].used > kIdleCalls;
}

// Returns the entry that has not been used for longest of those that may go, or -1 if none may.
template <class May>
int PeerMappings::oldest_that(May may_go) const {
  int oldest = -1;
  for (int entry = 0; entry < entries_; ++entry) {
    if (may_go(entry) && (oldest < 0 || own_[entry].used < own_[oldest].used)) oldest = entry;
  }
  return oldest;
}

// Returns the oldest of those that count against the limit.
int PeerMappings::oldest_mapped() const {
  return oldest_that([this](int entry) { return mapped_[index(control_.node_rank(), entry)].bytes != 0; });
}

int PeerMappings::oldest_entry() const {
  return oldest_that([this](int entry) { return !own_[entry].pinned && own_[entry].used != calls_; });
}

// There must be room without taking the place of what has been used of late. What alone exceeds the limit is mapped for each call.
bool PeerMappings::has_room(const crossrail_memory& memory, int entry) const {
  const std::uint64_t kept = bytes_of_[static_cast<std::size_t>(control_.node_rank())], most = limits_.most_mapped_bytes;
  const std::uint64_t more = is_watched(memory.bytes) ? 0 : memory.bytes;
  if (more <= most && kept + more > most && !is_idle(oldest_mapped())) return false;
  return entry >= 0 || free_entry() >= 0 || is_idle(oldest_entry());
}

bool PeerMappings::worth_mapping(const crossrail_memory& memory) {
  const int entry = entry_of(memory);
  return is_mapped(entry) || (unmapped_.worth_mapping(memory) && has_room(memory, entry));
}

void PeerMappings::pin(const ExportedSide& mine) {
  if (!own_[mine.entry].pinned) ++pins_;
  own_[mine.entry].pinned = true;
}

int PeerMappings::entry_of(const crossrail_memory& memory) const {
  const auto found = entries_of_.find({memory.allocation, memory.base});
  return found == entries_of_.end() ? -1 : found->second;
}

int PeerMappings::free_entry() const {
  for (int entry = 0; entry < entries_; ++entry) {
    if (own_[entry].used == 0) return entry;
  }
  return entries_ < region_.entries ? entries_ : -1;
}

// Returns a free entry, else the one that has not been used for longest. It is not one of this very call.
int PeerMappings::entry_for(const crossrail_memory& memory) {
  int entry = free_entry();
  if (entry < 0) {
    look_at_all();
    entry = free_entry();
  }
  if (entry < 0) entry = oldest_entry();
  if (entry < 0) return -1;
  entries_ = std::max(entries_, entry + 1);
  withdraw(entry);
  own_[entry].memory = memory;
  own_[entry].used = calls_;
  entries_of_[{memory.allocation, memory.base}] = entry;
  ExportedAllocation& mine = region_.exported(control_.node_rank(), entry);
  mine.allocation = memory.allocation;
  mine.base = reinterpret_cast<std::uint64_t>(memory.base);
  return entry;
}

ExportedSide PeerMappings::export_side(const crossrail_memory& memory, const void* address) {
  int entry = entry_of(memory);
  if (entry < 0 && memory.shareable != 0) entry = entry_for(memory);
  if (entry < 0) return {};
  own_[entry].used = calls_;
  ExportedSide side;
  side.residency = Residency::device;
  side.entry = static_cast<std::uint16_t>(entry);
  side.version = region_.exported(control_.node_rank(), entry).version.load(std::memory_order_relaxed);
  side.offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - static_cast<const std::byte*>(memory.base));
  return side;
}

// Exports the memory now that it is to be mapped, and sends its descriptors to all peers.
void PeerMappings::hand_out(const ExportedSide& mine) {
  const int rank = control_.node_rank();
  Own& own = own_[mine.entry];
  ExportedAllocation& exported = region_.exported(rank, mine.entry);
  own.descriptors.resize(CROSSRAIL_MOST_CHUNKS);
  exported.handle = crossrail_handle{};
  if (device::module()->export_memory(&own.memory, &exported.handle, own.descriptors.data()) != nullptr) exported.handle = crossrail_handle{};
  own.descriptors.resize(exported.handle.chunk_count);
  if (!own.watched && mine.residency == Residency::device && is_watched(exported.handle.bytes)) {
    own.watched = true;
    freed_memory::watch_own(this, &own, own.memory, {&exported.freed, &exported.holders, mine.version});
  }
  bool all = true;
  for (int peer = 0; peer < control_.node_size() && !own.descriptors.empty(); ++peer) {
    const bool maps = peer != rank && region_.lines[peer].identity != 0;  // A rank without a queue does not map it.
    if (maps) all = send_descriptors(region_.lines[peer].socket, label(rank, mine.entry, peer), own.descriptors).ok() && all;
  }
  if (!all) own.list = list_descriptors(own.descriptors);
  exported.list = own.list;
}

// Returns whether a peer has refused it, after all have been asked, so that it is not exported again.
bool PeerMappings::refused(const ExportedSide& mine) {
  if (mine.residency == Residency::empty) return false;
  Own& own = own_[mine.entry];
  close_descriptors(own.descriptors);
  if (own.list >= 0) ::close(own.list);
  own.list = -1;
  if (region_.exported(control_.node_rank(), mine.entry).refused.load(std::memory_order_acquire) != mine.version) return false;
  unmapped_.refused(own.memory);
  withdraw(mine.entry);
  return true;
}

}  // namespace crossrail
