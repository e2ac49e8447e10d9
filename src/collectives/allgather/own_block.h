// What allgathers share: this rank's own block. In place it is where it belongs.
#pragma once

#include "collectives/algorithm.h"

namespace crossrail::allgather {

inline std::byte* received(const Plan& plan, const Buffers& buffers, int index) {
  return buffers.recv + static_cast<std::size_t>(index) * plan.shape.block_bytes;
}
// Two sides that begin at one address are one (comm/buffers.h).
inline bool in_place(const Buffers& buffers) { return buffers.send == buffers.recv; }
inline const std::byte* own_block(const Plan& plan, const Buffers& buffers) {
  return in_place(buffers) ? received(plan, buffers, plan.group.index()) : buffers.send;
}
// Bytes of it to where it is received.
inline void copy_own(const Plan& plan, const Buffers& buffers, std::size_t from, std::size_t bytes) {
  if (!in_place(buffers)) copy_block(received(plan, buffers, plan.group.index()) + from, buffers.send + from, bytes);
}

}  // namespace crossrail::allgather
