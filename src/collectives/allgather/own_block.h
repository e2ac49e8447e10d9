// What allgathers share, of equal blocks and of others: where blocks are received, and this rank's own. In place it is where it belongs.
#pragma once

#include "collectives/algorithm.h"
#include "collectives/blocks.h"

namespace crossrail::allgather {

template <class Blocks>
struct Gathering {
  Blocks received;
  const std::byte* own;
  int index;  // of this rank in the group

  // Bytes of this rank's block to where it is received.
  void copy_own(std::size_t from, std::size_t bytes) const {
    std::byte* const to = received.at(index);
    if (own != to) copy_block(to + from, own + from, bytes);
  }
};

// Two sides of equal blocks that begin at one address are one (comm/buffers.h).
inline Gathering<EqualBlocks> equal_blocks(const Plan& plan, const Buffers& buffers) {
  const EqualBlocks received{buffers.recv, plan.shape.block_bytes};
  const int index = plan.group.index();
  return {received, buffers.send == buffers.recv ? received.at(index) : buffers.send, index};
}
// Of a table: what is sent has one, too, of this rank's block alone.
inline Gathering<UnequalBlocks> unequal_blocks(const Plan& plan, const Buffers& buffers) {
  const int index = plan.group.index();
  return {UnequalBlocks(buffers.recv, buffers.in, plan.group.size()), moved(const_cast<std::byte*>(buffers.send), buffers.out[index].offset), index};
}

}  // namespace crossrail::allgather
