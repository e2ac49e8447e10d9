// DeviceWindows: device memory of the ranks of a node, mapped by each other.
//
// A rank offers an allocation in one of its slots; the version of the slot tells peers when it holds
// another one, which they then map in place of the one before. So the memory that is held mapped is
// bounded by the slots, and memory that was freed and allocated again at the same address, which the
// driver gives another allocation id, is never taken for the old one. Allocations that their owner has
// freed are let go of when the next one is offered, and within as many calls as there are slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "transport/descriptors.h"
#include "transport/device_lines.h"

namespace crossrail {

// A peer's memory, mapped into this process.
struct Mapping {
  Mapping(std::byte* at, std::size_t length, bool is_whole) : mapped(at), bytes(length), whole(is_whole) {}
  ~Mapping() { close(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  void close();
  std::atomic<std::byte*> mapped;  // null once it is closed
  std::size_t bytes;
  bool whole;                      // an allocation, not some chunks of one
};

class DeviceWindows {
 public:
  // `lines` of all ranks of the node. This rank's are set up here, which all ranks do before any offers.
  DeviceWindows(DeviceLines* lines, int node_rank, int node_size);
  ~DeviceWindows();
  DeviceWindows(const DeviceWindows&) = delete;
  DeviceWindows& operator=(const DeviceWindows&) = delete;

  // Finds or makes the slot of the memory at `address`. The place stays `host` where it cannot be
  // shared or peers have refused to map it.
  OfferedSide offer(const crossrail_memory& memory, const void* address);
  // Looks at one of this rank's slots, a different one each time: its memory may have been freed. How
  // often that was seen so far.
  std::uint64_t look_for_freed();
  // Lets go of what a peer has freed or given another slot.
  void drop_windows(int owner);
  // Never to be dropped from its slot: kernels that nobody waits for may use it.
  void pin(const OfferedSide& mine);

  // True if peers have not yet been asked to map what `owner` offers. The same on every rank.
  bool fresh(int owner, const OfferedSide& offered) const {
    return windows_[index(owner, offered.slot)].version != offered.version;
  }
  // Makes it ready for all peers, who are about to open it.
  void send(const OfferedSide& mine);
  // Maps it (own memory: only notes that all have been asked). Errors: system; the owner is told.
  Status open(crossrail_queue* queue, int owner, const OfferedSide& offered);
  // Where it lies here; null if it could not be mapped.
  std::byte* at(int owner, const OfferedSide& offered) const {
    const auto& mapping = windows_[index(owner, offered.slot)].mapping;
    std::byte* const base = mapping == nullptr ? nullptr : mapping->mapped.load(std::memory_order_relaxed);
    return base == nullptr ? nullptr : base + offered.offset;
  }
  // After all have been asked: whether a peer has refused it, so that it is not offered again.
  bool refused(const OfferedSide& mine);

 private:
  struct Own {
    crossrail_memory memory{};
    std::uint64_t used = 0;  // number of the offer that used it last; 0: free
    bool pinned = false;
    Chunks descriptors;      // of the handle, until all peers have been asked
    int list = -1;
  };
  struct Window {
    std::uint64_t version = 0;
    std::shared_ptr<Mapping> mapping;
  };
  std::size_t index(int owner, int slot) const {
    return static_cast<std::size_t>(owner) * DeviceLines::kSlots + static_cast<std::size_t>(slot);
  }
  int slot_of(const crossrail_memory& memory);
  bool is_freed(int slot) const;
  void drop_freed(int slot);
  void drop(int slot);
  Status map(crossrail_queue* queue, int owner, const OfferedSide& offered, Window& window);
  ParcelLabel label(int owner, int slot, int receiver) const;

  DeviceLines* lines_;
  int node_rank_;
  int node_size_;
  Own own_[DeviceLines::kSlots];
  std::uint64_t offers_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t freed_ = 0;
  std::vector<Window> windows_;  // by owner and slot
  std::vector<std::uint64_t> refused_;  // allocations that peers could not map
};

}  // namespace crossrail
