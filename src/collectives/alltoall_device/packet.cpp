// What   A kernel on every device writes packets, data and the number of the round together, into the
//        receive buffers of its peers, waits for theirs and puts the data where the program wants them.
// When   One node, small blocks; the only way of small blocks that does not map the program's memory.
// Cost   One kernel launch + one flight over the links; twice the bytes.
// Needs  A device for every rank (kernels that wait for each other must run at the same time), receive
//        buffers in device memory. In a stream's order: contiguous blocks.
// From   Ours, for the IPC paper's small blocks; packets: NCCL's LL, MSCCL++.

#include "collectives/device_rounds.h"

namespace crossrail::alltoall_device::packet {
bool fits(const Topology& topology, const Shape& shape) {
  return on_one_node(topology) && shape.block_bytes <= most_packet_bytes(topology.size);
}

Status plan(Plan& plan) {
  CROSSRAIL_TRY(plan.devices->queue().may_wait_for_peers());
  CROSSRAIL_TRY(plan_mapped(plan, MappedSide::none));
  return plan.shape.order == Order::stream ? Status{} : plan.devices->receive_buffers().open(receive_buffer_bytes(plan));
}

namespace {

Status enqueue(Plan& plan, const Buffers& buffers, crossrail_packets packets) {
  CROSSRAIL_TRY(plan.devices->streams().check_peers());
  packets.send = buffers.send;
  packets.recv = buffers.recv;
  return plan.devices->streams().packets(buffers.stream, packets);
}

}  // namespace

Status run(Plan& plan, const Buffers& buffers) {
  DeviceSharing& devices = *plan.devices;
  const DeviceRound whole = round_of(plan, 0, plan.shape.block_bytes);
  crossrail_packets packets{};
  packets.block_bytes = whole.bytes;
  if (plan.shape.order == Order::stream) return enqueue(plan, buffers, packets);
  // All ranks see this alike.
  if (devices.chunk() < whole.bytes) return failed(Code::unsupported, "no room to stage whole blocks");
  DeviceWork work;
  CROSSRAIL_TRY(stage_in(plan, buffers, whole, work));
  packets.send = devices.staged(MappedSide::send) ? devices.staging(MappedSide::send) : buffers.send;
  packets.recv = devices.staged(MappedSide::recv) ? devices.staging(MappedSide::recv) : buffers.recv;
  devices.receive_buffers().address(packets);
  CROSSRAIL_TRY(devices.queue().begin_packets(packets, work));
  CROSSRAIL_TRY(devices.queue().finish(work));
  return stage_out(plan, buffers, whole);
}

}  // namespace crossrail::alltoall_device::packet
