// PeerMappings: device memory of the ranks of a node, mapped by each other.
//
// A rank exports an allocation in one of its entries; the version of the entry tells peers when it holds
// another one, which they then map in place of the one before. Memory that was freed and allocated again at the
// same address, which the driver gives another allocation id, is never taken for the old one.
//
// To map memory in the place of other memory costs more than to stage it, so what is in use stays: of more allocations in turn than there
// are entries, or bytes that may be mapped, the others are staged.
//
// Memory is not free before all have unmapped it. Owners look in every call at some entries whether their memory is
// still there, and say in their descriptors what they have withdrawn, so that peers let go of what has been freed within
// a few calls, all in the same one; and of the memory of one owner they keep no more than `most_mapped_bytes` from one
// call to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "device_sharing/descriptors.h"
#include "device_sharing/device_rendezvous.h"
#include "device_sharing/process_mappings.h"
#include "device_sharing/unmapped_allocations.h"

namespace crossrail {

class PeerMappings {
 public:
  struct Limits {
    std::uint64_t staged_uses;        // of memory, before it is mapped
    std::uint64_t most_mapped_bytes;  // of what an owner's program has, between calls
  };
  // This rank's lines are set up here, which all ranks do before any exports.
  PeerMappings(DeviceLines* lines, ControlBlock& control, const Limits& limits);
  ~PeerMappings();
  PeerMappings(const PeerMappings&) = delete;
  PeerMappings& operator=(const PeerMappings&) = delete;

  // ----- of this rank's memory
  // Finds or makes the entry of the memory at `address`. The residency stays `host` where it cannot be
  // shared or peers have refused to map it.
  ExportedSide export_side(const crossrail_memory& memory, const void* address);
  // A call begins. Looks at some entries, different ones each time: their memory may have been freed.
  void begin_call();
  // How many exports are over so far: for the descriptor, once what the call has is exported.
  std::uint64_t withdrawn() const { return withdrawn_; }
  // Returns whether memory of the program that is used once more should be mapped, not staged.
  bool worth_mapping(const crossrail_memory& memory);
  // Not to lose its entry as long as it lives: kernels that nobody waits for may use it. Not all entries can be pinned.
  bool can_pin(const crossrail_memory& memory);
  void pin(const ExportedSide& mine);

  // ----- of the peers'
  // What owners have withdrawn is let go of.
  void drop_withdrawn(const DeviceDescriptors& all);
  // Maps one side of all ranks, where that has not been done, for the device of `queue`; that of none: this rank maps nothing. All ranks call it
  // alike. Code::unsupported, on all ranks alike, where some rank cannot.
  Status map(MappedSide side, const DeviceDescriptors& all, const OpenQueue& queue);
  // Mapped as long as their owners keep them.
  void keep(MappedSide side, const DeviceDescriptors& all);
  // What is kept of an owner is of no more use: all ranks let go of it alike.
  void let_go(int owner, const ExportedSide& side);
  // The call that had them is over: of what is mapped for calls no more than the limit is kept. All ranks alike.
  void end_call();
  // Where it lies here; null if it could not be mapped.
  std::byte* at(int owner, const ExportedSide& side) const {
    const auto& mapping = mapped_[index(owner, side.entry)].mapping;
    std::byte* const base = mapping == nullptr ? nullptr : mapping->mapped.load(std::memory_order_relaxed);
    return base == nullptr ? nullptr : base + side.offset;
  }
  // Not even memory of ours can be mapped, on some rank: on all ranks alike, for so many calls, more each time.
  bool hopeless() const { return hopeless_calls_ > 0; }
  void pass_call() { hopeless_calls_ -= hopeless() ? 1 : 0; }

 private:
  struct Own {
    crossrail_memory memory{};
    std::uint64_t used = 0;  // number of the call that used it last; 0: free
    bool pinned = false;
    Chunks descriptors;      // of the handle, until all peers have been asked
    int list = -1;
  };
  struct Mapped {
    std::uint64_t version = 0;
    std::shared_ptr<Mapping> mapping;
    std::uint64_t bytes = 0;  // that count against the limit; 0: kept, or of ours
    std::uint64_t used = 0;   // number of the call that used it last
  };
  std::size_t index(int owner, int entry) const {
    return static_cast<std::size_t>(owner) * DeviceLines::kExported + static_cast<std::size_t>(entry);
  }
  // True if peers have not yet been asked to map what `owner` exports. The same on every rank.
  bool fresh(int owner, const ExportedSide& side) const {
    return side.residency != Residency::empty && mapped_[index(owner, side.entry)].version != side.version;
  }
  static constexpr int kMostPinned = DeviceLines::kExported - 64;
  int entry_of(const crossrail_memory& memory) const;
  int entry_for(const crossrail_memory& memory);
  bool is_mapped(int entry) const;
  bool has_room(const crossrail_memory& memory, int entry) const;
  bool is_idle(int entry) const;
  template <class May>
  int oldest_that(May may_go) const;
  int oldest_mapped() const;
  int free_entry() const;
  int oldest_entry() const;
  bool is_freed(int entry) const;
  void drop_freed(int entry);
  void look_at_all();
  void drop(int entry);
  void withdraw(int entry);
  void forget(int owner, int entry);
  void shrink(int owner);
  void hand_out(const ExportedSide& mine);
  Status open(const OpenQueue& queue, int owner, const ExportedSide& side);
  Status map_one(const OpenQueue& queue, int owner, const ExportedSide& side);
  bool refused(const ExportedSide& mine);
  ParcelLabel label(int owner, int entry, int receiver) const;

  DeviceLines* lines_;
  ControlBlock& control_;
  Own own_[DeviceLines::kExported];
  Limits limits_;
  int entries_ = 0;  // that have been used so far
  int pins_ = 0;
  std::uint64_t calls_ = 1;
  int looked_ = 0;  // entry that was looked at last
  std::uint64_t withdrawn_ = 0;
  std::vector<Mapped> mapped_;               // by owner and entry
  std::vector<std::uint64_t> withdrawn_by_;  // by owner: those that have been let go of
  std::vector<std::uint64_t> bytes_of_;      // by owner: those of all its `mapped_`
  UnmappedAllocations unmapped_;
  std::uint64_t hopeless_calls_ = 0, next_hopeless_calls_ = 64;
};

}  // namespace crossrail
