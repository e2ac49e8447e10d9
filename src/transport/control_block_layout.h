// The layout says for what a control block uses how much memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crossrail {

struct ControlBlockLayout {
  int node_size = 1;
  std::size_t packet_count = 0;     // It counts the packets of one rank in one half.
  std::size_t bulk_bytes = 0;       // It is the bulk region of one rank in one half.
  std::size_t extension_bytes = 0;  // It comes last.
  std::size_t total_bytes() const;  // They are whole pages.
};

// Returns what so many ranks can use: those of a large node stage blocks about as long as those of a small one.
std::uint64_t useful_scratch_bytes(int node_size);
// Returns the largest layout within `scratch_bytes` (not counting the extension) that is not larger than useful.
ControlBlockLayout control_block_layout(int node_size, std::uint64_t scratch_bytes, std::size_t extension_bytes = 0);

}  // namespace crossrail
