// Buffers is the user's memory of one call as contiguous blocks. It is never stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/layout.h"
#include "device/device.h"

namespace crossrail {

// Block says where a block of a v-collective lies, from the start of its side, and how long it is.
struct Block {
  std::ptrdiff_t offset = 0;
  std::size_t bytes = 0;
  const Layout* layout = nullptr;  // It describes elements with gaps, the first of which is at `offset`; it is null if the bytes lie in a row.
};

// DeviceLayout says how the elements of a datatype lie in device memory, if not in a row.
struct DeviceLayout {
  std::uint64_t element_bytes = 0;
  std::int64_t extent = 0;
  bool even = false;  // An element is `runs`, which can be told to another process.
  crossrail_runs runs{};
  std::vector<crossrail_segment> segments;  // Otherwise these are the segments of an element, in the order of its bytes.
  std::uint64_t id = 0;                     // It identifies the list of segments within this process.

  // Returns the elements at `at`, from byte `first` of them on.
  crossrail_elements elements(std::byte* at, std::uint64_t first) const {
    if (even) return {at, element_bytes, extent, first, nullptr, 0, 0, runs};
    return {at, element_bytes, extent, first, segments.data(), segments.size(), id, {}};
  }
};

// ShortBlock is a block of a v-collective of which fewer bytes have come than the receiver expects, as MPI allows.
struct ShortBlock {
  int rank;
  std::size_t bytes;
};

struct Buffers {
  const std::byte* send = nullptr;  // It is the same memory as recv if Shape::in_place is set.
  std::byte* recv = nullptr;
  // v-collectives have one block for every rank of the communicator. Other calls have null and equal blocks in rank order.
  const Block* out = nullptr;
  const Block* in = nullptr;
  // In v-collectives: blocks that are sent within the node, also to this rank, lie where those that are received go.
  bool in_place = false;
  std::vector<ShortBlock>* shorter = nullptr;  // In v-collectives the algorithm lists here which blocks were shorter; it is null if nobody asks.
  // If equal blocks have gaps, this is the layout of the side.
  const Layout* send_gaps = nullptr;
  const Layout* recv_gaps = nullptr;
  // On devices this is the layout of a side with gaps, otherwise null.
  const DeviceLayout* send_layout = nullptr;
  const DeviceLayout* recv_layout = nullptr;
  // In v-collectives there is one for every block, which is null if the block has none.
  const DeviceLayout* const* out_layouts = nullptr;
  const DeviceLayout* const* in_layouts = nullptr;
  // v-collectives in a stream's order have these sides instead of everything above.
  const crossrail_counted_side* counted_send = nullptr;
  const crossrail_counted_side* counted_recv = nullptr;
  void* stream = nullptr;  // It is the stream of a call in a stream's order, as device_module.h writes it.

  // These return the bytes of equal blocks from `begin` on, or of the block to or from a rank of the communicator.
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
