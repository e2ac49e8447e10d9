// What   The first half of a two-shot allreduce: a kernel on every device reads this rank's block of all ranks where they lie, combines them in
//        the order of the ranks, and writes the result.
// When   One node, any number of elements.
// Cost   One meeting of processors + one kernel launch + m(p-1) bytes into every device.
// Needs  What is sent in device memory that peers can map; else, in place and where elements have gaps, memory of ours on the way, in rounds
//        where CROSSRAIL_DEVICE_SCRATCH is less. In a stream's order: only what can be mapped, and not in place. Setting: CROSSRAIL_SMS.
// From   As allreduce_device/two_shot_pull.

#include <algorithm>

#include "collectives/allreduce_device/combined.h"

namespace crossrail::reduce_scatter_block_device::ipc_pull {
namespace {

// Every block of those for whom this rank launches, from all ranks to its owner.
std::span<crossrail_combination> lay_out(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  auto& shares = plan.kept<allreduce_device::Shares>();
  shares.clear();
  for (const int owner : plan.device_blocks.launched) {
    const allreduce_device::Share share = shares.add(plan, {plan.group.size(), 1}, round.bytes);
    for (int peer = 0; peer < plan.group.size(); ++peer) share.from[peer] = block_of(plan, buffers, round, {peer, MappedSide::send, owner});
    share.to[0] = block_of(plan, buffers, round, {owner, MappedSide::recv, 0});
  }
  return shares.all();
}

Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  DeviceSharing& devices = *plan.devices;
  DeviceWork staging, work;
  CROSSRAIL_TRY(stage_in(plan, buffers, round, staging));
  CROSSRAIL_TRY(meet_staged(plan, staging, round.from > 0));
  CROSSRAIL_TRY(devices.queue().begin_combinations(lay_out(plan, buffers, round), work, Launch::one_a_device));
  CROSSRAIL_TRY(devices.queue().finish(work));
  return stage_out(plan, buffers, {round.from, round.bytes, round.block, round.block});
}

Status enqueue(Plan& plan, const Buffers& buffers, const DeviceRound& whole) {
  CROSSRAIL_TRY(map_for_stream(plan));
  return plan.devices->streams().combination(buffers.stream, lay_out(plan, buffers, whole).front(), Meet::both);
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) { return allreduce_device::fit_combining(topology, shape); }

Status plan(Plan& plan) {
  CROSSRAIL_TRY(allreduce_device::has_kernels(plan));
  CROSSRAIL_TRY(plan_mapped(plan, MappedSide::send));
  plan.keep(allreduce_device::Shares(plan));
  return {};
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (plan.shape.order == Order::stream) return enqueue(plan, buffers, round_of(plan, 0, block));
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t chunk = plan.devices->chunk(), element = bytes_of(plan.shape.reduction.element);
  const std::size_t step = chunk < block ? chunk / element * element : block;
  if (step == 0) return failed(Code::unsupported, "no room to stage an element");
  for (std::size_t from = 0; from < block; from += step) {
    CROSSRAIL_TRY(run_round(plan, buffers, round_of(plan, from, std::min(step, block - from))));
  }
  return {};
}

}  // namespace crossrail::reduce_scatter_block_device::ipc_pull
