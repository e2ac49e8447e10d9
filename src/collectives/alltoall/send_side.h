// Alltoalls that let peers take blocks while others arrive share this code: where blocks are sent from, and the block that stays.
#pragma once

#include "collectives/algorithm.h"

namespace crossrail::alltoall {

// In place, blocks would be overwritten before they are sent, so they are sent from a copy.
inline Fit fit_send_copy(const Topology& topology, const Shape& shape) {
  const Fit fit = Fit().planned(Planning::when_larger);
  return shape.in_place ? Fit(fit).at_most(topology.scratch_bytes / static_cast<std::uint64_t>(topology.size)) : fit;
}

inline Status reserve_send_copy(Plan& plan) {
  if (!plan.shape.in_place) return {};
  return plan.reserve_scratch(plan.shape.block_bytes * plan.group.size());
}

// This is for rows that send one block per message.
inline Status plan_messages(Plan& plan) {
  CROSSRAIL_TRY(plan.links->open_messages());
  return reserve_send_copy(plan);
}

// Returns the blocks to send. In place, they are copied first.
inline const std::byte* send_side(Plan& plan, const Buffers& buffers) {
  if (!plan.shape.in_place) return buffers.send;
  copy_block(plan.scratch(), buffers.recv, plan.scratch_bytes);
  return plan.scratch();
}

inline void copy_own_block(const Plan& plan, const Buffers& buffers) {
  if (plan.shape.in_place) return;
  const std::size_t block = plan.shape.block_bytes;
  const std::size_t at = plan.group.index() * block;
  copy_part(buffers.received(at, block), buffers.sent(at, block));
}

}  // namespace crossrail::alltoall
