// These are the blocks of one side of a call in which every rank knows all lengths: either equal blocks or those of a table. Algorithms are templates
// over the two, so that equal blocks need no table.
#pragma once

#include <algorithm>

#include "comm/plan.h"

namespace crossrail {

struct EqualBlocks {
  std::byte* first;
  std::size_t block;

  // A call without any bytes moves nothing and never comes here.
  static constexpr bool is_empty(std::size_t) { return false; }
  std::size_t bytes(int) const { return block; }
  std::byte* at(int number) const { return first + static_cast<std::size_t>(number) * block; }
  std::size_t longest() const { return block; }
  std::size_t all(int count) const { return static_cast<std::size_t>(count) * block; }
  // Returns how many bytes of a block to take from byte `from` on, at most `most`. `from` lies within the longest block.
  std::size_t piece(int, std::size_t from, std::size_t most) const { return std::min(most, block - from); }
};

struct UnequalBlocks {
  std::byte* base;
  const Block* table;
  std::size_t longest_bytes = 0, all_bytes = 0;

  UnequalBlocks(std::byte* side, const Block* blocks, int count) : base(side), table(blocks) {
    for (int number = 0; number < count; ++number) {
      longest_bytes = std::max(longest_bytes, blocks[number].bytes);
      all_bytes += blocks[number].bytes;
    }
  }
  static constexpr bool is_empty(std::size_t bytes) { return bytes == 0; }
  std::size_t bytes(int number) const { return table[number].bytes; }
  std::byte* at(int number) const { return moved(base, table[number].offset); }
  std::size_t longest() const { return longest_bytes; }
  std::size_t all(int) const { return all_bytes; }
  std::size_t piece(int number, std::size_t from, std::size_t most) const {
    const std::size_t block = table[number].bytes;
    return from >= block ? 0 : std::min(most, block - from);
  }
};

// No block of such a call is longer than this, since its Shape has the mean.
inline std::size_t longest_possible(const Plan& plan) {
  const bool equal = row_of(plan.shape.collective).counts != Counts::table;
  return plan.shape.block_bytes * (equal ? 1 : static_cast<std::size_t>(plan.group.size()));
}

}  // namespace crossrail
