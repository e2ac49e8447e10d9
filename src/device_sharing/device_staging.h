// DeviceStaging holds device memory of ours, one piece a side, for what peers cannot map, what has gaps and what is sent in place. Blocks
// lie in it one chunk apart. Where they do not fit, they go in rounds of a chunk each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device_sharing/device_queue.h"

namespace crossrail {

class DeviceStaging {
 public:
  struct Limits {
    std::uint64_t most_bytes;  // It limits each side's memory.
    int ranks;                 // It holds the blocks of this many ranks.
  };
  DeviceStaging(const Limits& limits, const DeviceQueue& queue) : limits_(limits), queue_(queue) {}
  ~DeviceStaging() { release(); }
  DeviceStaging(const DeviceStaging&) = delete;
  DeviceStaging& operator=(const DeviceStaging&) = delete;

  // Makes room for one block of every rank, or as much of that as may be had. It returns false if there would be too little.
  bool reserve(MappedSide side, std::size_t block_bytes);
  // Returns how many bytes of every rank's block fit.
  std::size_t chunk(MappedSide side) const;
  // Notes that a call has begun that does without this side's memory. After many such calls in a row the memory is given back.
  void not_needed(MappedSide side);
  std::byte* memory(MappedSide side) const { return piece(side).memory; }
  const crossrail_memory& facts(MappedSide side) const { return piece(side).facts; }
  void release();

 private:
  struct Piece {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    crossrail_memory facts{};
    int idle_calls = 0;
  };
  static void release(const crossrail_device_module& module, Piece& piece);
  const Piece& piece(MappedSide side) const { return pieces_[side == MappedSide::send ? 0 : 1]; }
  bool enough(const Piece& piece) const;

  Limits limits_;
  const DeviceQueue& queue_;
  Piece pieces_[2];
};

}  // namespace crossrail
