// Buffers: the user's memory of one call, as contiguous blocks. Never stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device.h"

namespace crossrail {

// A block of a v-collective: where it lies from the start of its side, and how long it is.
struct Block {
  std::ptrdiff_t offset = 0;
  std::size_t bytes = 0;
};

// How the elements of a datatype lie in device memory, where not in a row.
struct DeviceLayout {
  std::vector<crossrail_segment> segments;  // of one element, in the order of its bytes
  std::uint64_t id = 0;                     // nobody else's in this process
  std::uint64_t element_bytes = 0;
  std::int64_t extent = 0;
};

struct Buffers {
  const std::byte* send = nullptr;  // with Shape::in_place the same memory as recv
  std::byte* recv = nullptr;
  // Of v-collectives, one for every rank of the communicator; elsewhere null: equal blocks in rank
  // order. The engine never sees a v-collective in place: who calls it sends from a copy.
  const Block* out = nullptr;
  const Block* in = nullptr;
  // On devices: of a side that has gaps; elsewhere null.
  const DeviceLayout* send_layout = nullptr;
  const DeviceLayout* recv_layout = nullptr;
  void* stream = nullptr;  // of calls in a stream's order: which, as device_module.h writes it
};

}  // namespace crossrail
