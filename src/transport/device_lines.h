// What the ranks of a node show each other about device memory: the part of the node's segment that
// DeviceBoard lays out.
//
//   pages of flags, to which devices write | lines of rank 0, 1, ...
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "device/device.h"

namespace crossrail {

// Written by a rank's device, read by every rank's processor; and `leave`, the other way round.
struct alignas(kCacheLineBytes) DeviceFlags {
  std::uint64_t done;   // last exchange of this rank that has arrived everywhere
  std::uint64_t local;  // last work of this rank on its own memory
  std::uint64_t leave;  // not 0: kernels that wait for peers shall give up
};

// Where one side of a rank's call lies.
enum class Place : std::uint8_t {
  host,    // the processor must carry it
  device,  // where the program has it: mapped by peers
  staged   // in device memory of ours: mapped by peers, copied from there or to there
};

// One side, packed into the words of a door.
struct OfferedSide {
  Place place = Place::host;
  std::uint8_t slot = 0;
  std::uint64_t version = 0;  // of the slot; 48 bits
  std::uint64_t offset = 0;   // from the slot's memory on

  std::uint64_t word() const { return version << 16 | std::uint64_t{slot} << 8 | static_cast<std::uint64_t>(place); }
  static OfferedSide from(std::uint64_t word, std::uint64_t offset) {
    return {static_cast<Place>(word & 0xff), static_cast<std::uint8_t>(word >> 8 & 0xff), word >> 16, offset};
  }
};

// What a rank hangs out in every call, once devices are in play. Two, by parity.
struct alignas(kCacheLineBytes) DeviceDoor {
  std::atomic<std::uint64_t> flag;  // written last
  std::atomic<std::uint64_t> send, send_offset;
  std::atomic<std::uint64_t> recv, recv_offset;
  std::atomic<std::uint64_t> chunk;  // most bytes of a block in one round
  std::atomic<std::uint64_t> freed;  // allocations of the rank's that were offered once and are no more
};

// An allocation that peers may map.
struct alignas(kCacheLineBytes) DeviceSlot {
  std::atomic<std::uint64_t> version;  // grows with every allocation that the slot is given to
  std::atomic<std::uint64_t> refused;  // version that some peer could not map
  std::int64_t list;                   // descriptor of a file that lists the handle's descriptors; -1: none
  std::uint64_t allocation, base;      // in its owner's process
  crossrail_handle handle;
};

struct DeviceLines {
  static constexpr int kSlots = 16;
  DeviceDoor door[2];
  alignas(kCacheLineBytes) std::uint64_t process;  // number of the process, nobody else's
  std::uint64_t board;                             // number of these lines, nobody else's
  std::uint64_t socket;                            // for its descriptors
  std::uint64_t identity;                          // of its device
  std::int64_t pid;
  DeviceSlot slot[kSlots];
};

inline std::size_t device_flags_bytes(int node_size) {
  return round_up(static_cast<std::size_t>(node_size) * sizeof(DeviceFlags), kPageBytes);
}
inline std::size_t device_lines_bytes(int node_size) {
  return device_flags_bytes(node_size) + round_up(static_cast<std::size_t>(node_size) * sizeof(DeviceLines), kPageBytes);
}

}  // namespace crossrail
