// PeerMappings: device memory of the ranks of a node, mapped by each other.
//
// A rank exports an allocation in one of its entries; the version of the entry tells peers when it holds
// another one, which they then map in place of the one before. So the memory that is held mapped is
// bounded by the entries, and memory that was freed and allocated again at the same address, which the
// driver gives another allocation id, is never taken for the old one. Allocations that their owner has
// freed are let go of when the next one is exported, and within as many calls as there are entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "device_sharing/descriptors.h"
#include "device_sharing/device_rendezvous.h"
#include "device_sharing/process_mappings.h"

namespace crossrail {

class PeerMappings {
 public:
  // This rank's lines are set up here, which all ranks do before any exports.
  PeerMappings(DeviceLines* lines, ControlBlock& control);
  ~PeerMappings();
  PeerMappings(const PeerMappings&) = delete;
  PeerMappings& operator=(const PeerMappings&) = delete;

  // ----- of this rank's memory
  // Finds or makes the entry of the memory at `address`. The residency stays `host` where it cannot be
  // shared or peers have refused to map it.
  ExportedSide export_side(const crossrail_memory& memory, const void* address);
  // Looks at one of the entries, a different one each time: its memory may have been freed. How
  // often that was seen so far.
  std::uint64_t look_for_freed();
  std::uint64_t freed() const { return freed_; }
  // Never to lose its entry: kernels that nobody waits for may use it.
  void pin(const ExportedSide& mine) { own_[mine.entry].pinned = true; }

  // ----- of the peers'
  // What peers say they have freed or given another entry is let go of.
  void drop_freed_by_peers(const DeviceDescriptors& all);
  // Maps one side of all ranks, where that has not been done, for the device of `queue`. All ranks call it
  // alike. Code::unsupported, on all ranks alike, where some rank cannot.
  Status map(MappedSide side, const DeviceDescriptors& all, crossrail_queue* queue);
  // Where it lies here; null if it could not be mapped.
  std::byte* at(int owner, const ExportedSide& side) const {
    const auto& mapping = mapped_[index(owner, side.entry)].mapping;
    std::byte* const base = mapping == nullptr ? nullptr : mapping->mapped.load(std::memory_order_relaxed);
    return base == nullptr ? nullptr : base + side.offset;
  }
  // Not even memory of ours can be mapped, on some rank: on all ranks alike.
  bool hopeless() const { return hopeless_; }

 private:
  struct Own {
    crossrail_memory memory{};
    std::uint64_t used = 0;  // number of the export that used it last; 0: free
    bool pinned = false;
    Chunks descriptors;      // of the handle, until all peers have been asked
    int list = -1;
  };
  struct Mapped {
    std::uint64_t version = 0;
    std::shared_ptr<Mapping> mapping;
  };
  std::size_t index(int owner, int entry) const {
    return static_cast<std::size_t>(owner) * DeviceLines::kExported + static_cast<std::size_t>(entry);
  }
  // True if peers have not yet been asked to map what `owner` exports. The same on every rank.
  bool fresh(int owner, const ExportedSide& side) const { return mapped_[index(owner, side.entry)].version != side.version; }
  int entry_of(const crossrail_memory& memory) const;
  int entry_for(const crossrail_memory& memory);
  bool is_freed(int entry) const;
  void drop_freed(int entry);
  void drop(int entry);
  void drop_mappings(int owner);
  void hand_out(const ExportedSide& mine);
  Status open(crossrail_queue* queue, int owner, const ExportedSide& side);
  Status map_one(crossrail_queue* queue, int owner, const ExportedSide& side);
  bool refused(const ExportedSide& mine);
  ParcelLabel label(int owner, int entry, int receiver) const;

  DeviceLines* lines_;
  ControlBlock& control_;
  Own own_[DeviceLines::kExported];
  std::uint64_t exports_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t freed_ = 0;
  std::vector<Mapped> mapped_;             // by owner and entry
  std::vector<std::uint64_t> freed_by_;    // by rank: as it last said
  std::vector<std::uint64_t> refused_;     // allocations that peers could not map
  bool hopeless_ = false;
};

}  // namespace crossrail
