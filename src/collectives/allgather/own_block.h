// All allgathers, of equal blocks and of others, share this code: where blocks are
// received, and where this rank's own block is. In place it is already where it belongs.
#pragma once

#include "collectives/algorithm.h"
#include "collectives/blocks.h"

namespace crossrail::allgather {

template <class Blocks>
struct Gathering {
  Blocks received;
  const std::byte* own;
  int index;  // It is this rank's index in the group.

  // Copies bytes of this rank's block to where it is received.
  void copy_own(std::size_t from, std::size_t bytes) const {
    std::byte* const to = received.at(index);
    if (own != to) copy_block(to + from, own + from, bytes);
  }
};

// If two sides of equal blocks begin at one address, they are the same side (comm/buffers.h).
inline Gathering<EqualBlocks> equal_blocks(const Plan& plan, const Buffers& buffers) {
  const EqualBlocks received{buffers.recv, plan.shape.block_bytes};
  const int index = plan.group.index();
  return {received, buffers.send == buffers.recv ? received.at(index) : buffers.send, index};
}
// The receiving side has a table of blocks. The sending side has one, too, with only this rank's block.
inline Gathering<UnequalBlocks> unequal_blocks(const Plan& plan, const Buffers& buffers) {
  const int index = plan.group.index();
  return {UnequalBlocks(buffers.recv, buffers.in, plan.group.size()), moved(const_cast<std::byte*>(buffers.send), buffers.out[index].offset), index};
}

}  // namespace crossrail::allgather
