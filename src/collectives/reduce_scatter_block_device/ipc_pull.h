// This is the code of reduce_scatter_block_device/ipc_pull and reduce_scatter_device/ipc_pull.
#pragma once

#include "collectives/allreduce_device/combined.h"

namespace crossrail::reduce_scatter_block_device {

// The receiving side is one block, this rank's own.
inline DeviceRound result_of(const Plan& plan, const DeviceRound& round) {
  const std::size_t own = round.table == nullptr ? round.block : round.table[plan.group.index()].bytes;
  return {round.from, round.bytes, own, own};
}

// Combines, for every rank for which this one launches, its block from all ranks.
inline std::span<crossrail_combination> lay_out(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  auto& shares = plan.kept<allreduce_device::Shares>();
  shares.clear();
  for (const int owner : plan.device_blocks.launched) {
    const allreduce_device::Share share = shares.add(plan, {plan.group.size(), 1}, round.of(owner));
    for (int peer = 0; peer < plan.group.size(); ++peer) share.from[peer] = block_of(plan, buffers, round, {peer, MappedSide::send, owner});
    share.to[0] = block_of(plan, buffers, result_of(plan, round), {owner, MappedSide::recv, 0});
  }
  return shares.all();
}

inline Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  DeviceSharing& devices = *plan.devices;
  DeviceWork staging, work;
  CROSSRAIL_TRY(stage_in(plan, buffers, round, staging));
  CROSSRAIL_TRY(meet_staged(plan, staging, round.from > 0));
  CROSSRAIL_TRY(devices.queue().begin_combinations(lay_out(plan, buffers, round), work, Launch::one_a_device));
  CROSSRAIL_TRY(devices.queue().finish(work));
  return stage_out(plan, buffers, result_of(plan, round));
}

inline Status plan_pull(Plan& plan) {
  CROSSRAIL_TRY(allreduce_device::has_kernels(plan));
  CROSSRAIL_TRY(plan_mapped(plan, MappedSide::send));
  plan.keep(allreduce_device::Shares(plan));
  return {};
}

// Returns how many bytes, in whole elements, of every block go in one round if
// the longest has `longest` bytes; 0 means that there is no room for one element.
inline std::size_t bytes_a_round(const Plan& plan, std::size_t longest) {
  const std::size_t chunk = plan.devices->chunk(), element = bytes_of(plan.shape.reduction.element);
  return chunk < longest ? chunk / element * element : longest;
}
inline constexpr const char* kNoRoomForElement = "no room to stage an element";

}  // namespace crossrail::reduce_scatter_block_device
