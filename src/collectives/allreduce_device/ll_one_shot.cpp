// What   Every device sends all of its rank's elements to all others in packets, data and the number of the round together, through
//        receive buffers, and combines what comes with its own.
// When   One node, few elements.
// Cost   One kernel launch + one flight over the links; 2m(p-1) bytes out of every device, and every element combined p times.
// Needs  A device for every rank, 8 ranks at most, receive buffers in device memory. In a stream's order: elements in a row.
// From   NCCL's LL protocol; one-shot: MSCCL++.

#include "collectives/allreduce_device/combined.h"

namespace crossrail::allreduce_device::ll_one_shot {

bool fits(const Topology& topology, const Shape& shape) {
  if (!on_one_node(topology) || topology.size > CROSSRAIL_MOST_COMBINING || !known_to_devices(shape.reduction)) return false;
  constexpr std::size_t kPacketsBytes = 16;  // that travel together: as many elements as fit, of odd ones one
  const std::size_t element = bytes_of(shape.reduction.element);
  const std::size_t unit = kPacketsBytes % element == 0 ? kPacketsBytes : element;
  return (shape.block_bytes + unit - 1) / unit * kPacketsBytes <= most_packet_bytes(topology.size);
}

Status plan(Plan& plan) {
  CROSSRAIL_TRY(has_kernels(plan));
  CROSSRAIL_TRY(plan.devices->queue().may_wait_for_peers());
  CROSSRAIL_TRY(plan_mapped(plan, MappedSide::none));
  return plan.shape.order == Order::stream ? Status{} : plan.devices->receive_buffers().open(receive_buffer_bytes(plan));
}

Status run(Plan& plan, const Buffers& buffers) {
  DeviceSharing& devices = *plan.devices;
  const std::size_t bytes = plan.shape.block_bytes;
  const crossrail_reduction reduction = reduction_of(plan);
  crossrail_packets packets{};
  packets.block_bytes = bytes;
  packets.send = buffers.send;
  packets.recv = buffers.recv;
  if (plan.shape.order == Order::stream) {
    CROSSRAIL_TRY(devices.streams().check_peers());
    return devices.streams().packets(buffers.stream, packets, &reduction);
  }
  // One block of all elements. All ranks see alike whether there is room.
  const DeviceRound whole{0, bytes, bytes, bytes};
  if (devices.chunk() * static_cast<std::size_t>(plan.group.size()) < bytes) return failed(Code::unsupported, "no room to stage all elements");
  DeviceWork work;
  CROSSRAIL_TRY(stage_in(plan, buffers, whole, work));
  if (devices.staged(MappedSide::send)) packets.send = devices.staging(MappedSide::send);
  if (devices.staged(MappedSide::recv)) packets.recv = devices.staging(MappedSide::recv);
  devices.receive_buffers().address(packets);
  CROSSRAIL_TRY(devices.queue().begin_packets(packets, work, &reduction));
  CROSSRAIL_TRY(devices.queue().finish(work));
  return stage_out(plan, buffers, whole);
}

}  // namespace crossrail::allreduce_device::ll_one_shot
