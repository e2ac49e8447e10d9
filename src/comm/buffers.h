// Buffers: the user's memory of one call, as contiguous blocks. Never stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/layout.h"
#include "device/device.h"

namespace crossrail {

// A block of a v-collective: where it lies from the start of its side, and how long it is.
struct Block {
  std::ptrdiff_t offset = 0;
  std::size_t bytes = 0;
  const Layout* layout = nullptr;  // of elements with gaps, the first of which is at `offset`; null: bytes in a row
};

// How the elements of a datatype lie in device memory, where not in a row.
struct DeviceLayout {
  std::uint64_t element_bytes = 0;
  std::int64_t extent = 0;
  bool even = false;  // an element is `runs`, which another process can be told
  crossrail_runs runs{};
  std::vector<crossrail_segment> segments;  // else: of one element, in the order of its bytes
  std::uint64_t id = 0;                     // and the list's, nobody else's in this process

  // Elements at `at`, from byte `first` of them on.
  crossrail_elements elements(std::byte* at, std::uint64_t first) const {
    if (even) return {at, element_bytes, extent, first, nullptr, 0, 0, runs};
    return {at, element_bytes, extent, first, segments.data(), segments.size(), id, {}};
  }
};

// A block of a v-collective of which fewer bytes have come than the receiver expects, as MPI allows.
struct ShortBlock {
  int rank;
  std::size_t bytes;
};

struct Buffers {
  const std::byte* send = nullptr;  // with Shape::in_place the same memory as recv
  std::byte* recv = nullptr;
  // Of v-collectives, one for every rank of the communicator; elsewhere null: equal blocks in rank
  // order.
  const Block* out = nullptr;
  const Block* in = nullptr;
  // Of v-collectives: blocks to other ranks of the node, and to this one, lie where theirs go.
  bool in_place = false;
  std::vector<ShortBlock>* shorter = nullptr;  // of v-collectives, what the algorithm has found; null where nobody asks
  // Of equal blocks, of a side that has gaps.
  const Layout* send_gaps = nullptr;
  const Layout* recv_gaps = nullptr;
  // On devices: of a side that has gaps; elsewhere null.
  const DeviceLayout* send_layout = nullptr;
  const DeviceLayout* recv_layout = nullptr;
  // The same of v-collectives: one for every block, null for those that have none.
  const DeviceLayout* const* out_layouts = nullptr;
  const DeviceLayout* const* in_layouts = nullptr;
  // Of v-collectives in a stream's order, instead of all that: their sides.
  const crossrail_counted_side* counted_send = nullptr;
  const crossrail_counted_side* counted_recv = nullptr;
  void* stream = nullptr;  // of calls in a stream's order: which, as device_module.h writes it

  // The bytes of equal blocks from `begin` on, or of the block to or from a rank of the communicator.
  Part sent(std::size_t begin, std::size_t bytes) const { return {const_cast<std::byte*>(send), send_gaps, begin, bytes}; }
  Part received(std::size_t begin, std::size_t bytes) const { return {recv, recv_gaps, begin, bytes}; }
  Part sent_to(int rank) const { return part(const_cast<std::byte*>(send), out[rank]); }
  Part received_from(int rank) const { return part(recv, in[rank]); }
  void came_from(int rank, std::size_t bytes) const {
    if (bytes < in[rank].bytes && shorter != nullptr) shorter->push_back({rank, bytes});
  }

 private:
  static Part part(std::byte* side, const Block& block) {
    return {moved(side, block.offset), block.layout, 0, block.bytes};
  }
};

}  // namespace crossrail
