// This is what the ranks of a node show each other about device memory. It is the part of a slot of the node's segment that the classes of
// this folder lay out:
//
//   pages of flags, to which devices write | lines of rank 0, 1, ... | their exported allocations | what they have withdrawn
//   | places of rank 0, 1, ..., of either parity
//
// Pages that nobody touches take no memory, so there may be room for many allocations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "device/device.h"

namespace crossrail {

// A rank's device writes `done`, `local` and `wrong`. Every rank's processor reads them, but only the rank's own reads `wrong`. The
// processor writes `abort`, and the device reads it.
struct alignas(kCacheLineBytes) DeviceFlags {
  std::uint64_t done;   // It is the last exchange of this rank that has arrived everywhere.
  std::uint64_t local;  // It is the last work of this rank that concerns nobody else.
  std::uint64_t abort;  // If it is not 0, kernels that wait for peers give up.
  std::uint64_t wrong;  // It belongs to crossrail_counted_exchange. It is 0 if nothing was wrong.
};

// This says where one side of a rank's call lies.
enum class Residency : std::uint8_t {
  host,    // The processor must carry it.
  empty,   // It has no bytes, as in a v-call or a rooted one.
  device,  // It lies where the program has it, and peers map it.
  staged   // It lies in device memory of ours, which peers map, and is copied from there or to there.
};

// These are the sides of a call of which ranks map each other's memory.
enum class MappedSide : std::uint8_t { none, send, recv, both };
constexpr bool includes(MappedSide sides, MappedSide one) { return sides == one || sides == MappedSide::both; }

// This is one side, packed into the words of a descriptor.
struct ExportedSide {
  Residency residency = Residency::host;
  std::uint16_t entry = 0;    // It is one of its owner's exported allocations and has 12 bits.
  std::uint64_t version = 0;  // It is the version of the entry and has 44 bits.
  std::uint64_t offset = 0;   // It counts from the allocation's base on.
  bool in_place = false;      // The program has both sides at one address.

  std::uint64_t word() const {
    return version << 20 | std::uint64_t{entry} << 8 | (in_place ? 0x80 : 0) | static_cast<std::uint64_t>(residency);
  }
  static ExportedSide from(std::uint64_t word, std::uint64_t offset) {
    return {static_cast<Residency>(word & 0x7f), static_cast<std::uint16_t>(word >> 8 & 0xfff), word >> 20, offset, (word & 0x80) != 0};
  }
};

// A rank publishes this in every call, once devices are in play. There are two of them, by parity.
struct alignas(kCacheLineBytes) DeviceDescriptorLine {
  std::atomic<std::uint64_t> flag;  // It is written last.
  std::atomic<std::uint64_t> send, send_offset;
  std::atomic<std::uint64_t> recv, recv_offset;
  std::atomic<std::uint64_t> chunk;  // It is the most bytes of a block in one round.
  std::atomic<std::uint64_t> longest;  // It is the longest of the rank's blocks.
  std::atomic<std::uint64_t> withdrawn;  // This many of its exports are over. DeviceRegion::withdrawn tells which ones.
};

// This is an allocation that peers may map.
struct alignas(kCacheLineBytes) ExportedAllocation {
  std::atomic<std::uint64_t> version;  // It grows with every allocation that the entry is given to.
  std::atomic<std::uint64_t> refused;  // It is a version that some peer could not map.
  std::atomic<std::uint64_t> freed;    // It is a version whose allocation the program has freed (freed_memory.h).
  std::atomic<std::uint64_t> holders;  // It counts who has that version mapped.
  std::int64_t list;                   // It is the descriptor of a file that lists the handle's descriptors, or -1 if there is none.
  std::uint64_t allocation, base;      // They are those of its owner's process.
  crossrail_handle handle;
};

struct DeviceLines {
  DeviceDescriptorLine descriptor[2];
  alignas(kCacheLineBytes) std::uint64_t process;  // It is the number of the process and nobody else's.
  std::uint64_t number;                            // It is the number of these lines and nobody else's.
  std::uint64_t socket;                            // It is the socket for its file descriptors.
  std::uint64_t identity;                          // It is the identity of its device.
  std::uint64_t waits;                             // It is 1 if its module has kernels that wait for peers.
  std::uint64_t concurrent;                        // It is 1 if such kernels of several processes run on its device at the same time.
  std::int64_t pid;
  std::uint64_t left;                              // It is 1 once the rank has done all it will do, so that its process may end.
};

// In a v-call a rank says this of its blocks from and to one other rank.
struct DevicePlace {
  std::uint64_t received_at, sent_from;  // They count from the beginning of its receiving and of its sending side.
  std::uint64_t received, sent;          // They are in bytes.
  // These say how the received data lies there where it has gaps. element_bytes is 0 where it has none.
  std::uint64_t element_bytes = 0;
  std::int64_t extent = 0;
  crossrail_runs runs{};
};

// A rank exports at most so many allocations at a time. An ExportedSide can tell no more than the most.
constexpr int kLeastExported = 16, kMostExported = 4096;

// An owner is at most one call ahead of a peer that has yet to look, and withdraws no entry more than twice in a call.
constexpr std::size_t withdrawn_of(int entries) { return 4 * static_cast<std::size_t>(entries); }

inline std::size_t device_flags_bytes(int node_size) {
  return round_up(static_cast<std::size_t>(node_size) * sizeof(DeviceFlags), kPageBytes);
}
inline std::size_t device_places_bytes(int node_size) {
  return 2 * static_cast<std::size_t>(node_size) * static_cast<std::size_t>(node_size) * sizeof(DevicePlace);
}
inline std::size_t device_lines_bytes(int node_size, int entries) {
  const std::size_t rank = sizeof(DeviceLines) + static_cast<std::size_t>(entries) * sizeof(ExportedAllocation) + withdrawn_of(entries) * sizeof(std::uint64_t);
  return device_flags_bytes(node_size) + round_up(static_cast<std::size_t>(node_size) * rank + device_places_bytes(node_size), kPageBytes);
}

// This is the same memory as the classes see it. `entries` is the same for all ranks.
class DeviceRegion {
 public:
  DeviceRegion(std::byte* memory, int ranks, int entry_count)
      : flags(reinterpret_cast<DeviceFlags*>(memory)),
        lines(reinterpret_cast<DeviceLines*>(memory + device_flags_bytes(ranks))),
        node_size(ranks),
        entries(entry_count),
        exported_(reinterpret_cast<ExportedAllocation*>(lines + ranks)),
        withdrawn_(reinterpret_cast<std::atomic<std::uint64_t>*>(exported_ + static_cast<std::size_t>(ranks) * static_cast<std::size_t>(entry_count))),
        places_(reinterpret_cast<DevicePlace*>(withdrawn_ + static_cast<std::size_t>(ranks) * withdrawn_of(entry_count))) {}

  DeviceFlags* flags;  // They are indexed by node rank.
  DeviceLines* lines;
  int node_size, entries;

  ExportedAllocation& exported(int owner, int entry) const {
    return exported_[static_cast<std::size_t>(owner) * static_cast<std::size_t>(entries) + static_cast<std::size_t>(entry)];
  }
  // Returns the word of a withdrawal, which is version << 12 | entry.
  std::atomic<std::uint64_t>& withdrawn(int owner, std::uint64_t number) const {
    return withdrawn_[static_cast<std::size_t>(owner) * withdrawn_of(entries) + number % withdrawn_of(entries)];
  }
  // Returns what rank `owner` says in rounds of this parity: one place for every rank.
  DevicePlace* places(int owner, std::uint64_t parity) const {
    return places_ + (parity * static_cast<std::uint64_t>(node_size) + static_cast<std::uint64_t>(owner)) * static_cast<std::uint64_t>(node_size);
  }

 private:
  ExportedAllocation* exported_;
  std::atomic<std::uint64_t>* withdrawn_;
  DevicePlace* places_;
};

}  // namespace crossrail
