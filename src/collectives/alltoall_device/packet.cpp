// What   A kernel on every device writes packets, data and the number of the round together, into the
//        inboxes of its peers, waits for theirs and puts the data where the program wants them.
// When   One node, small blocks; the only way of small blocks that does not map the program's memory.
// Cost   One kernel launch + one flight over the links; twice the bytes.
// Needs  A device for every rank (kernels that wait for each other must run at the same time), inboxes in
//        device memory.
// From   Ours, for the IPC paper's small blocks; packets: NCCL's LL, MSCCL++.

#include "collectives/device_rounds.h"

namespace crossrail::alltoall_device::packet {
bool fits(const Topology& topology, const Shape& shape) {
  return on_one_node(topology) && shape.block_bytes <= most_packet_bytes(topology.size);
}

Status plan(Plan& plan) {
  DeviceBoard& devices = *plan.devices;
  if (devices.module().packets == nullptr) return failed(Code::unsupported, "the device module has no packets");
  if (devices.share_a_device()) return failed(Code::unsupported, "two ranks share a device");
  CROSSRAIL_TRY(plan_windows(plan, Window::none));
  return devices.open_inboxes(DeviceBoard::Use::calls, inbox_bytes(devices.module(), plan.topology->size));
}

Status run(Plan& plan, const Buffers& buffers) {
  DeviceBoard& devices = *plan.devices;
  const Round whole{0, plan.shape.block_bytes};
  // All ranks see this alike.
  if (devices.chunk() < whole.bytes) return failed(Code::unsupported, "no room to stage whole blocks");
  CROSSRAIL_TRY(stage_in(plan, buffers, whole));
  crossrail_packets packets{};
  packets.block_bytes = plan.shape.block_bytes;
  packets.send = devices.staged(Window::send) ? devices.scratch(Window::send) : buffers.send;
  packets.recv = devices.staged(Window::recv) ? devices.scratch(Window::recv) : buffers.recv;
  CROSSRAIL_TRY(devices.packets(packets));
  return stage_out(plan, buffers, whole);
}

}  // namespace crossrail::alltoall_device::packet
