// Gathers and scatters share this code: which rank is the root, and where blocks lie. The root's row has a block for every rank. Its own block may
// already be there (a gather in place) or stay there (a scatter in place).
#pragma once

#include "collectives/algorithm.h"

namespace crossrail {

inline bool is_root(const Plan& plan) { return plan.group.index() == plan.shape.root; }

inline std::byte* block_in_row(const Plan& plan, std::byte* row, int rank) { return row + static_cast<std::size_t>(rank) * plan.shape.block_bytes; }
inline const std::byte* block_in_row(const Plan& plan, const std::byte* row, int rank) {
  return row + static_cast<std::size_t>(rank) * plan.shape.block_bytes;
}

namespace gather {

// If the root is in place, both its sides begin at one address (comm/buffers.h).
inline bool in_place(const Plan& plan, const Buffers& buffers) { return is_root(plan) && buffers.send == buffers.recv; }
inline const std::byte* own_block(const Plan& plan, const Buffers& buffers) {
  return in_place(plan, buffers) ? block_in_row(plan, buffers.send, plan.shape.root) : buffers.send;
}
// Copies the root's own block to its row.
inline void copy_own(const Plan& plan, const Buffers& buffers) {
  if (!in_place(plan, buffers)) copy_block(block_in_row(plan, buffers.recv, plan.shape.root), buffers.send, plan.shape.block_bytes);
}

}  // namespace gather

namespace scatter {

// Copies the root's own block from its row. In place it receives nothing.
inline void copy_own(const Plan& plan, const Buffers& buffers) {
  if (buffers.recv != nullptr) copy_block(buffers.recv, block_in_row(plan, buffers.send, plan.shape.root), plan.shape.block_bytes);
}

}  // namespace scatter

}  // namespace crossrail
