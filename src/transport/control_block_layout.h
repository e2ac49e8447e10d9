// How much memory a control block has for what.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crossrail {

struct ControlBlockLayout {
  int node_size = 1;
  std::size_t packet_count = 0;     // packets of one rank in one half
  std::size_t bulk_bytes = 0;       // bulk region of one rank in one half
  std::size_t extension_bytes = 0;  // behind it all
  std::size_t total_bytes() const;  // whole pages
};

// What so many ranks have use for: those of a large node stage blocks about as long as those of a small one.
std::uint64_t useful_scratch_bytes(int node_size);
// The largest layout within `scratch_bytes` (the extension beside it), but no more than is useful.
ControlBlockLayout control_block_layout(int node_size, std::uint64_t scratch_bytes, std::size_t extension_bytes = 0);

}  // namespace crossrail
