// What   Both halves of a two-shot allreduce in one kernel: every device reads its rank's share of all ranks' elements where they lie,
//        combines them, and writes the results to all ranks at once. A unit is read from everybody before it is written
//        anywhere, and by one device only: so calls may be in place, and nothing is waited for between the halves.
// When   One node, any number of elements.
// Cost   One meeting of processors + one kernel launch + m(p-1)/p bytes into and out of every device, twice.
// Needs  Both sides in device memory that peers can map; else, and where elements have gaps, memory of ours on the way, in rounds where
//        CROSSRAIL_DEVICE_SCRATCH is less. Setting: CROSSRAIL_SMS. In a stream's order: only what can be mapped.
// From   Reduce-scatter and allgather: Rabenseifner 2004; over mapped memory: multi-rail poster, MSCCL++ (two-shot).

#include "collectives/allreduce_device/combined.h"

namespace crossrail::allreduce_device::two_shot_pull {
namespace {

// Where this rank's share of a round lies with everybody, on both sides.
struct Rows {
  const void* from[CROSSRAIL_MOST_OPERANDS];
  void* to[CROSSRAIL_MOST_OPERANDS];
};

crossrail_combination lay_out(const Plan& plan, const Buffers& buffers, const DeviceRound& round, Rows& rows) {
  const int rank = plan.group.index(), size = plan.group.size();
  const DeviceSharing& devices = *plan.devices;
  for (int peer = 0; peer < size; ++peer) {
    const auto at = [&](MappedSide side) { return devices.block({peer, side, static_cast<std::size_t>(rank), round.from}); };
    rows.from[peer] = peer == rank ? sent_block(plan, buffers, round, rank) : at(MappedSide::send);
    rows.to[peer] = peer == rank ? received_block(plan, buffers, round, rank) : at(MappedSide::recv);
  }
  crossrail_combination combination{};
  combination.reduction = reduction_of(plan);
  combination.from = rows.from;
  combination.to = rows.to;
  combination.from_count = combination.to_count = size;
  combination.bytes = round.of(rank);
  return combination;
}

Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  DeviceSharing& devices = *plan.devices;
  DeviceWork staging, work;
  CROSSRAIL_TRY(stage_in(plan, buffers, round, staging));
  // What peers read must be there; in later rounds, what they write over must have been taken out.
  if (round.from > 0 || devices.any_staged(MappedSide::send)) {
    if (devices.staged(MappedSide::send)) CROSSRAIL_TRY(devices.queue().finish(staging));
    CROSSRAIL_TRY(plan.control->barrier());
  }
  Rows rows;
  CROSSRAIL_TRY(devices.queue().begin_combination(lay_out(plan, buffers, round, rows), work));
  CROSSRAIL_TRY(devices.queue().finish(work));
  return stage_out(plan, buffers, round);
}

Status enqueue(Plan& plan, const Buffers& buffers, const DeviceRound& whole) {
  DeviceSharing& devices = *plan.devices;
  CROSSRAIL_TRY(devices.streams().check_peers());
  if (devices.any_staged(MappedSide::send) || devices.any_staged(MappedSide::recv)) {
    return failed(Code::unsupported, "some rank's memory cannot be mapped by others");
  }
  CROSSRAIL_TRY(devices.map_peers(plan.mapped));
  devices.keep_mapped(plan.mapped);
  Rows rows;
  const crossrail_combination combination = lay_out(plan, buffers, whole, rows);
  CROSSRAIL_TRY(devices.streams().barrier(buffers.stream));
  CROSSRAIL_TRY(devices.streams().combination(buffers.stream, combination));
  return devices.streams().barrier(buffers.stream);
}

}  // namespace

bool fits(const Topology& topology, const Shape& shape) {
  return on_one_node(topology) && topology.size <= CROSSRAIL_MOST_OPERANDS && known_to_devices(shape.reduction);
}

Status plan(Plan& plan) {
  CROSSRAIL_TRY(has_kernels(plan));
  return plan_mapped(plan, MappedSide::both);
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = device_block_bytes(plan.shape, plan.group.size()), all = plan.shape.block_bytes;
  if (plan.shape.order == Order::stream) return enqueue(plan, buffers, {0, block, block, all});
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t chunk = plan.devices->chunk(), element = bytes_of(plan.shape.reduction.element);
  const std::size_t step = chunk < block ? chunk / element * element : block;
  for (std::size_t from = 0; from < block; from += step) {
    CROSSRAIL_TRY(run_round(plan, buffers, {from, std::min(step, block - from), block, all}));
  }
  return {};
}

}  // namespace crossrail::allreduce_device::two_shot_pull
