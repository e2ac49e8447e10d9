// What   The first half of a two-shot allreduce: a kernel on every device reads this rank's block of all ranks where they lie, combines them in
//        the order of the ranks, and writes the result.
// When   One node, any number of elements.
// Cost   One meeting of processors + one kernel launch + m(p-1) bytes into every device.
// Needs  What is sent in device memory that peers can map; else, in place and where elements have gaps, memory of ours on the way, in rounds
//        where CROSSRAIL_DEVICE_SCRATCH is less. Setting: CROSSRAIL_SMS.
// From   As allreduce_device/two_shot_pull.

#include "collectives/allreduce_device/combined.h"

namespace crossrail::reduce_scatter_block_device::ipc_pull {
namespace {

Status begin_combination(Plan& plan, const Buffers& buffers, const DeviceRound& round, DeviceWork& work) {
  const int rank = plan.group.index(), size = plan.group.size();
  const void* from[CROSSRAIL_MOST_OPERANDS];
  for (int peer = 0; peer < size; ++peer) {
    from[peer] = peer == rank ? sent_block(plan, buffers, round, rank)
                              : plan.devices->block({peer, MappedSide::send, static_cast<std::size_t>(rank), round.from});
  }
  void* to[] = {received_block(plan, buffers, round, 0)};
  crossrail_combination combination{};
  combination.reduction = allreduce_device::reduction_of(plan);
  combination.from = from;
  combination.to = to;
  combination.from_count = size;
  combination.to_count = 1;
  combination.bytes = round.bytes;
  return plan.devices->queue().begin_combination(combination, work);
}

Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  DeviceSharing& devices = *plan.devices;
  DeviceWork staging, work;
  CROSSRAIL_TRY(stage_in(plan, buffers, round, staging));
  if (devices.any_staged(MappedSide::send)) {  // what peers read must be there
    if (devices.staged(MappedSide::send)) CROSSRAIL_TRY(devices.queue().finish(staging));
    CROSSRAIL_TRY(plan.control->barrier());
  }
  CROSSRAIL_TRY(begin_combination(plan, buffers, round, work));
  CROSSRAIL_TRY(devices.queue().finish(work));
  return stage_out(plan, buffers, {round.from, round.bytes, round.block, round.block});
}

}  // namespace

bool fits(const Topology& topology, const Shape& shape) {
  return on_one_node(topology) && shape.order == Order::call && topology.size <= CROSSRAIL_MOST_OPERANDS &&
         allreduce_device::known_to_devices(shape.reduction);
}

Status plan(Plan& plan) {
  CROSSRAIL_TRY(allreduce_device::has_kernels(plan));
  return plan_mapped(plan, MappedSide::send);
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
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
