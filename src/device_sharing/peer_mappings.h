// PeerMappings keeps the device memory that the ranks of a node have mapped of each other.
//
// A rank exports an allocation in one of its entries. The version of the entry tells peers when it holds another one, which they then map
// in place of the one before. Memory that was freed and allocated again at the same address gets another allocation id from the driver, so
// it is never taken for the old one.
//
// Mapping memory in the place of other memory costs more than staging it, so what is in use stays. If more allocations take turns than
// there are entries, or bytes that may be mapped, the others are staged.
//
// Memory is not free before all have unmapped it. Owners look in every call at some entries whether their memory is still there, and say in
// their descriptors what they have withdrawn. So peers let go of what has been freed within a few calls, all in the same one. Of the memory
// of one owner they keep no more than `most_mapped_bytes` from one call to the next. Large allocations, as arenas are, do not count there: peers
// let go of them soon after they have been freed, without a call (freed_memory.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "device_sharing/descriptors.h"
#include "device_sharing/device_rendezvous.h"
#include "device_sharing/freed_memory.h"
#include "device_sharing/process_mappings.h"
#include "device_sharing/unmapped_allocations.h"

namespace crossrail {

class PeerMappings {
 public:
  struct Limits {
    std::uint64_t staged_uses;        // Memory is used this many times before it is mapped.
    std::uint64_t most_mapped_bytes;  // It limits what an owner's program has mapped between calls, apart from large allocations. 0 holds for all.
  };
  // It sets up this rank's lines, which all ranks do before any exports.
  PeerMappings(const DeviceRegion& region, ControlBlock& control, const Limits& limits);
  ~PeerMappings();
  PeerMappings(const PeerMappings&) = delete;
  PeerMappings& operator=(const PeerMappings&) = delete;

  // ----- These concern this rank's memory.
  // Finds or makes the entry of the memory at `address`. The residency stays `host` where it cannot be shared or peers have refused to map
  // it.
  ExportedSide export_side(const crossrail_memory& memory, const void* address);
  // Begins a call. It looks at some entries, different ones each time, because their memory may have been freed.
  void begin_call();
  // Returns how many exports are over so far. It goes into the descriptor, once what the call has is exported.
  std::uint64_t withdrawn() const { return withdrawn_; }
  // Returns whether memory of the program that is used once more should be mapped, not staged.
  bool worth_mapping(const crossrail_memory& memory);
  // The memory must not lose its entry as long as it lives, because kernels that nobody waits for may use it. Not all entries can be
  // pinned.
  bool can_pin(const crossrail_memory& memory);
  void pin(const ExportedSide& mine);

  // ----- These concern the peers' memory.
  // Lets go of what owners have withdrawn.
  void drop_withdrawn(const DeviceDescriptors& all);
  // Maps one side of all ranks, where that has not been done, for the device of `queue`. If `queue` is none, this rank maps nothing. All
  // ranks call it alike. It returns Code::unsupported, on all ranks alike, where some rank cannot.
  Status map(MappedSide side, const DeviceDescriptors& all, const OpenQueue& queue);
  // Keeps them mapped as long as their owners keep them.
  void keep(MappedSide side, const DeviceDescriptors& all);
  // Lets go of what is kept of an owner, once it is of no more use. All ranks do so alike.
  void let_go(int owner, const ExportedSide& side);
  // Ends the call that had them. Of what is mapped for calls no more than the limit is kept. All ranks do so alike.
  void end_call();
  // Returns where it lies here, or null if it could not be mapped.
  std::byte* at(int owner, const ExportedSide& side) const {
    const auto& mapping = mapped_[index(owner, side.entry)].mapping;
    std::byte* const base = mapping == nullptr ? nullptr : mapping->mapped.load(std::memory_order_relaxed);
    return base == nullptr ? nullptr : base + side.offset;
  }
  // Returns whether not even memory of ours can be mapped, on some rank. All ranks know it alike, for so many calls, more each time.
  bool hopeless() const { return hopeless_calls_ > 0; }
  void pass_call() { hopeless_calls_ -= hopeless() ? 1 : 0; }

 private:
  struct Own {
    crossrail_memory memory{};
    std::uint64_t used = 0;  // It is the number of the call that used it last, or 0 if it is free.
    bool pinned = false;
    bool watched = false;    // It is in freed_memory.
    Chunks descriptors;      // They are those of the handle, until all peers have been asked.
    int list = -1;
  };
  struct Mapped {
    std::uint64_t version = 0;
    std::shared_ptr<Mapping> mapping;
    std::uint64_t bytes = 0;  // This many count against the limit. It is 0 if the memory is kept, large or ours.
    std::uint64_t used = 0;   // It is the number of the call that used it last.
    bool watched = false;     // It is in freed_memory.
  };
  std::size_t index(int owner, int entry) const {
    return static_cast<std::size_t>(owner) * static_cast<std::size_t>(region_.entries) + static_cast<std::size_t>(entry);
  }
  // Returns whether peers have not yet been asked to map what `owner` exports. It is the same on every rank.
  bool fresh(int owner, const ExportedSide& side) const {
    return side.residency != Residency::empty && mapped_[index(owner, side.entry)].version != side.version;
  }
  // Returns whether memory of so many bytes stays mapped until it has been freed. All ranks come to the same answer.
  bool is_watched(std::uint64_t bytes) const { return bytes >= freed_memory::kLargeBytes && limits_.most_mapped_bytes > 0; }
  // Some entries are left to calls that are not under way when they return.
  int most_pinned() const { return region_.entries - std::min(64, region_.entries / 4); }
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

  DeviceRegion region_;
  ControlBlock& control_;
  std::vector<Own> own_;
  std::unordered_map<AllocationKey, int, AllocationHash> entries_of_;  // It finds the entry of an allocation.
  Limits limits_;
  int entries_ = 0;  // This many have been used so far.
  int pins_ = 0;
  std::uint64_t calls_ = 1;
  int looked_ = 0;  // It is the entry that was looked at last.
  std::uint64_t withdrawn_ = 0;
  std::vector<Mapped> mapped_;               // They are indexed by owner and entry.
  std::vector<std::uint64_t> withdrawn_by_;  // They are indexed by owner and have been let go of.
  std::vector<std::uint64_t> bytes_of_;      // They are indexed by owner and add up all its `mapped_`.
  UnmappedAllocations unmapped_;
  std::uint64_t hopeless_calls_ = 0, next_hopeless_calls_ = 64;
};

}  // namespace crossrail
