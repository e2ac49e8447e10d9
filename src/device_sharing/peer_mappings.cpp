#include "device_sharing/peer_mappings.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "device/device.h"

namespace crossrail {

PeerMappings::PeerMappings(const DeviceRegion& region, ControlBlock& control, const Limits& limits)
    : region_(region),
      control_(control),
      own_(static_cast<std::size_t>(region.entries)),
      limits_(limits),
      mapped_(static_cast<std::size_t>(control.node_size()) * static_cast<std::size_t>(region.entries)),
      withdrawn_by_(static_cast<std::size_t>(control.node_size())),
      bytes_of_(static_cast<std::size_t>(control.node_size())),
      unmapped_(limits.staged_uses) {
  DeviceLines& mine = region_.lines[control.node_rank()];
  mine.process = process_number();
  mine.number = random_number();
  mine.socket = descriptor_socket();
  mine.pid = getpid();
}

PeerMappings::~PeerMappings() {
  for (int entry = 0; entry < entries_; ++entry) drop(entry);
  freed_memory::forget_all(this);
}

ParcelLabel PeerMappings::label(int owner, int entry, int receiver) const {
  const ExportedAllocation& its = region_.exported(owner, entry);
  return {region_.lines[owner].number, static_cast<std::uint64_t>(receiver), static_cast<std::uint64_t>(entry), its.version.load(std::memory_order_relaxed)};
}

// This takes only what the descriptors say, and not the versions that the entries have by now. An owner may have gone on to its next call,
// and all ranks are to know the same.
void PeerMappings::drop_withdrawn(const DeviceDescriptors& all) {
  for (int owner = 0; owner < control_.node_size(); ++owner) {
    for (std::uint64_t& next = withdrawn_by_[static_cast<std::size_t>(owner)]; next < all[static_cast<std::size_t>(owner)].withdrawn; ++next) {
      const std::uint64_t which = region_.withdrawn(owner, next).load(std::memory_order_relaxed);
      const int entry = static_cast<int>(which & 0xfff);
      if (mapped_[index(owner, entry)].version == which >> 12) forget(owner, entry);
    }
  }
}

void PeerMappings::forget(int owner, int entry) {
  Mapped& one = mapped_[index(owner, entry)];
  bytes_of_[static_cast<std::size_t>(owner)] -= one.bytes;
  const bool watched = one.watched;
  one = Mapped{};
  if (watched) freed_memory::forget(this, &one);
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
  region_.exported(owner, side.entry).version.fetch_add(1, std::memory_order_release);
}

void PeerMappings::end_call() {
  for (int owner = 0; owner < control_.node_size(); ++owner) {
    while (bytes_of_[static_cast<std::size_t>(owner)] > limits_.most_mapped_bytes) shrink(owner);
  }
}

// Drops the mapping that has not been used for longest.
void PeerMappings::shrink(int owner) {
  int oldest = -1;
  for (int entry = 0; entry < region_.entries; ++entry) {
    const Mapped& one = mapped_[index(owner, entry)];
    if (one.bytes > 0 && (oldest < 0 || one.used < mapped_[index(owner, oldest)].used)) oldest = entry;
  }
  forget(owner, oldest);
}

Status PeerMappings::map_one(const OpenQueue& queue, int owner, const ExportedSide& side) {
  const ExportedAllocation& its = region_.exported(owner, side.entry);
  if (its.handle.bytes == 0) return failed(Code::system, "its owner cannot share it");
  Chunks chunks;
  if (its.handle.chunk_count > 0) {
    const Status taken = take_descriptors(label(owner, side.entry, control_.node_rank()), its.handle.chunk_count, chunks);
    if (!taken.ok()) CROSSRAIL_TRY(fetch_descriptors(static_cast<int>(region_.lines[owner].pid), static_cast<int>(its.list), its.handle.chunk_count, chunks));
  }
  const ForeignAllocation allocation{region_.lines[owner].process, its.allocation, its.base, queue.place};
  const Status opened = map_once(allocation, {queue.handle, its.handle, chunks.data()}, mapped_[index(owner, side.entry)].mapping);
  close_descriptors(chunks);
  return opened;
}

// With its own memory, or without a queue, a rank only notes that all have been asked. All ranks count the same bytes of an owner.
Status PeerMappings::open(const OpenQueue& queue, int owner, const ExportedSide& side) {
  forget(owner, side.entry);
  Mapped& one = mapped_[index(owner, side.entry)];
  one.version = side.version;
  one.used = calls_;
  ExportedAllocation& its = region_.exported(owner, side.entry);
  const bool ours = side.residency == Residency::staged;  // It goes when it is idle.
  one.bytes = ours || is_watched(its.handle.bytes) ? 0 : its.handle.bytes;
  bytes_of_[static_cast<std::size_t>(owner)] += one.bytes;
  if (owner == control_.node_rank() || queue.handle == nullptr) return {};
  const Status mapped = map_one(queue, owner, side);
  if (!mapped.ok()) its.refused.store(side.version, std::memory_order_release);
  one.watched = mapped.ok() && !ours && is_watched(its.handle.bytes);
  if (one.watched) freed_memory::watch_mapping(this, &one, one.mapping, {&its.freed, &its.holders, side.version});
  return mapped;
}

Status PeerMappings::map(MappedSide side, const DeviceDescriptors& all, const OpenQueue& queue) {
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
  std::string why;  // The thread's text may be another call's by the time that all have agreed.
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
  // If even our own memory cannot be mapped, nothing can, and all ranks hear of it.
  CROSSRAIL_TRY(control_.agree(own_refused && own.residency == Residency::staged ? Code::unsupported : Code::ok, worst));
  if (worst != Code::ok) {
    hopeless_calls_ = next_hopeless_calls_;
    next_hopeless_calls_ *= 2;
  }
  return why.empty() ? failed(Code::unsupported, "another rank could not map device memory") : failure(Code::unsupported, "%s", why.c_str());
}

}  // namespace crossrail
