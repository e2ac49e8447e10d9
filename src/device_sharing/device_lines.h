// What the ranks of a node show each other about device memory: the part of a slot of the node's segment
// that the classes of this folder lay out.
//
//   pages of flags, to which devices write | lines of rank 0, 1, ... | places of rank 0, 1, ..., of either parity
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "device/device.h"

namespace crossrail {

// Written by a rank's device, read by every rank's processor, `wrong` by its own; and `abort`, the other way round.
struct alignas(kCacheLineBytes) DeviceFlags {
  std::uint64_t done;   // last exchange of this rank that has arrived everywhere
  std::uint64_t local;  // last work of this rank that concerns nobody else
  std::uint64_t abort;  // not 0: kernels that wait for peers shall give up
  std::uint64_t wrong;  // of crossrail_counted_exchange; 0: nothing was
};

// Where one side of a rank's call lies.
enum class Residency : std::uint8_t {
  host,    // the processor must carry it
  empty,   // no bytes: of a v-call, or of a rooted one
  device,  // where the program has it: mapped by peers
  staged   // in device memory of ours: mapped by peers, copied from there or to there
};

// The sides of a call of which ranks map each other's memory.
enum class MappedSide : std::uint8_t { none, send, recv, both };
constexpr bool includes(MappedSide sides, MappedSide one) { return sides == one || sides == MappedSide::both; }

// One side, packed into the words of a descriptor.
struct ExportedSide {
  Residency residency = Residency::host;
  std::uint8_t entry = 0;     // of its owner's exported allocations
  std::uint64_t version = 0;  // of the entry; 48 bits
  std::uint64_t offset = 0;   // from the allocation's base on
  bool in_place = false;      // the program has both sides at one address

  std::uint64_t word() const {
    return version << 16 | std::uint64_t{entry} << 8 | (in_place ? 0x80 : 0) | static_cast<std::uint64_t>(residency);
  }
  static ExportedSide from(std::uint64_t word, std::uint64_t offset) {
    return {static_cast<Residency>(word & 0x7f), static_cast<std::uint8_t>(word >> 8 & 0xff), word >> 16, offset, (word & 0x80) != 0};
  }
};

// What a rank publishes in every call, once devices are in play. Two, by parity.
struct alignas(kCacheLineBytes) DeviceDescriptorLine {
  std::atomic<std::uint64_t> flag;  // written last
  std::atomic<std::uint64_t> send, send_offset;
  std::atomic<std::uint64_t> recv, recv_offset;
  std::atomic<std::uint64_t> chunk;  // most bytes of a block in one round
  std::atomic<std::uint64_t> longest;  // of its blocks
  std::atomic<std::uint64_t> withdrawn;  // how many of its exports are over: which ones, DeviceLines::withdrawn tells
};

// An allocation that peers may map.
struct alignas(kCacheLineBytes) ExportedAllocation {
  std::atomic<std::uint64_t> version;  // grows with every allocation that the entry is given to
  std::atomic<std::uint64_t> refused;  // version that some peer could not map
  std::int64_t list;                   // descriptor of a file that lists the handle's descriptors; -1: none
  std::uint64_t allocation, base;      // in its owner's process
  crossrail_handle handle;
};

struct DeviceLines {
  static constexpr int kExported = 256;  // what an ExportedSide can tell; pages that nobody touches are not there
  // An owner is at most one call ahead of a peer that has yet to look, and withdraws no entry more than twice in a call.
  static constexpr std::uint64_t kWithdrawn = 4 * kExported;
  DeviceDescriptorLine descriptor[2];
  alignas(kCacheLineBytes) std::uint64_t process;  // number of the process, nobody else's
  std::uint64_t number;                            // number of these lines, nobody else's
  std::uint64_t socket;                            // for its file descriptors
  std::uint64_t identity;                          // of its device
  std::uint64_t waits;                             // 1: its module has kernels that wait for peers
  std::int64_t pid;
  ExportedAllocation exported[kExported];
  std::atomic<std::uint64_t> withdrawn[kWithdrawn];  // by number, in turn: version << 8 | entry
};

// Of a v-call: what a rank says of its blocks from and to one other.
struct DevicePlace {
  std::uint64_t received_at, sent_from;  // where they begin, from the beginning of its receiving and of its sending side
  std::uint64_t received, sent;          // bytes
  // How what is received lies there, where it has gaps: element_bytes is 0 where it has none.
  std::uint64_t element_bytes = 0;
  std::int64_t extent = 0;
  crossrail_runs runs{};
};

inline std::size_t device_flags_bytes(int node_size) {
  return round_up(static_cast<std::size_t>(node_size) * sizeof(DeviceFlags), kPageBytes);
}
inline std::size_t device_places_bytes(int node_size) {
  return 2 * static_cast<std::size_t>(node_size) * static_cast<std::size_t>(node_size) * sizeof(DevicePlace);
}
inline std::size_t device_lines_bytes(int node_size) {
  const std::size_t lines = static_cast<std::size_t>(node_size) * sizeof(DeviceLines);
  return device_flags_bytes(node_size) + round_up(lines + device_places_bytes(node_size), kPageBytes);
}

// The same memory, as the classes see it.
struct DeviceRegion {
  DeviceFlags* flags;  // by node rank
  DeviceLines* lines;
  int node_size;
  DeviceRegion(std::byte* memory, int ranks)
      : flags(reinterpret_cast<DeviceFlags*>(memory)), lines(reinterpret_cast<DeviceLines*>(memory + device_flags_bytes(ranks))), node_size(ranks) {}
  // What rank `owner` says in rounds of this parity: one for every rank.
  DevicePlace* places(int owner, std::uint64_t parity) const {
    auto* const first = reinterpret_cast<DevicePlace*>(lines + node_size);
    return first + (parity * static_cast<std::uint64_t>(node_size) + static_cast<std::uint64_t>(owner)) * static_cast<std::uint64_t>(node_size);
  }
};

}  // namespace crossrail
