// What   The first half of a two-shot allreduce: a kernel on every device reads this rank's block from all ranks where they lie, combines them in the
//        order of the ranks, and writes the result.
// When   One node, any number of elements.
// Cost   One meeting of processors + one kernel launch + m(p-1) bytes into every device.
// Needs  What is sent in device memory that peers can map; else, in place and where elements have gaps, memory of ours on the way, in rounds
//        where CROSSRAIL_DEVICE_SCRATCH is less. In a stream's order: only what can be mapped, and not in place. Setting: CROSSRAIL_SMS.
// From   As allreduce_device/two_shot_pull.

#include <algorithm>

#include "collectives/reduce_scatter_block_device/ipc_pull.h"

namespace crossrail::reduce_scatter_block_device::ipc_pull {
namespace {

Status enqueue(Plan& plan, const Buffers& buffers, const DeviceRound& whole) {
  CROSSRAIL_TRY(map_for_stream(plan));
  return plan.devices->streams().combination(buffers.stream, lay_out(plan, buffers, whole).front(), Meet::both);
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) { return allreduce_device::fit_combining(topology, shape); }

Status plan(Plan& plan) { return plan_pull(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (plan.shape.order == Order::stream) return enqueue(plan, buffers, round_of(plan, 0, block));
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t step = bytes_a_round(plan, block);
  if (step == 0) return failed(Code::unsupported, kNoRoomForElement);
  for (std::size_t from = 0; from < block; from += step) {
    CROSSRAIL_TRY(run_round(plan, buffers, round_of(plan, from, std::min(step, block - from))));
  }
  return {};
}

}  // namespace crossrail::reduce_scatter_block_device::ipc_pull
