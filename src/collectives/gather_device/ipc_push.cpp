// What   A kernel on every device, or its copy engines, write this rank's block to its place in the root's buffer, which the ranks have mapped;
//        the processors meet before it and see its end.
// When   One node, device memory.
// Cost   One meeting of processors + one kernel launch + m(p-1) bytes into the root's device.
// Needs  A root's buffer that can be mapped by peers; else, and where it has gaps, memory of ours on the way. Parameter: memcpy_threshold.
// From   IPC paper, sections III-A and VI (future work on gather and scatter).

#include "collectives/rooted_device.h"

namespace crossrail::gather_device::ipc_push {
namespace {

// In place, the root sends from its row.
bool sends_row(const Plan& plan, int owner) { return owner == plan.shape.root && plan.devices->in_place(owner); }

void lay_out(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  std::size_t next = 0;
  for (const int owner : plan.device_blocks.launched) {
    std::byte* const from = block_of(plan, buffers, round, {owner, MappedSide::send, sends_row(plan, owner) ? owner : 0});
    std::byte* const to = block_of(plan, buffers, round, {plan.shape.root, MappedSide::recv, owner});
    plan.device_blocks.exchanged[next++] = {to, from, to == from ? 0 : round.bytes};
  }
}

Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  DeviceWork staging;
  CROSSRAIL_TRY(stage_in(plan, buffers, sends_row(plan, plan.group.index()) ? round : round_of_block(round), staging));
  CROSSRAIL_TRY(meet_staged(plan, staging, round.from > 0));
  lay_out(plan, buffers, round);
  CROSSRAIL_TRY(exchange_blocks(plan));
  return stage_out(plan, buffers, round);
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) { return fit_devices(topology).needs(shape.order == Order::call, kCallOrder); }

Status plan(Plan& plan) {
  const Status planned = plan_mapped(plan, MappedSide::recv);
  plan.device_blocks.exchanged.resize(plan.device_blocks.launched.size());  // Each rank has one block.
  return planned;
}

Status run(Plan& plan, const Buffers& buffers) {
  return run_rooted(plan, [&](const DeviceRound& round) { return run_round(plan, buffers, round); });
}

}  // namespace crossrail::gather_device::ipc_push
