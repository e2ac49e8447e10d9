// What   Every device sends its rank's block to all others in packets of 128 bytes, data and the number of the round together, through
//        receive buffers, and puts what comes where the program wants it.
// When   One node, in a stream's order, blocks up to some hundred kilobytes. Calls that return when they are done end sooner with ipc_push.
// Cost   One kernel launch + one flight over the links; 16/15 m(p-1) bytes out of every device.
// Needs  As alltoall_device/ll128.
// From   NCCL's LL128 protocol.

#include "collectives/device_packets.h"

namespace crossrail::allgather_device::ll128 {

Fit fit(const Topology& topology, const Shape& shape) { return kLL128.fit(topology).needs(shape.order == Order::stream, kStreamOrder); }

Status plan(Plan& plan) { return plan_packets(plan, kLL128); }

Status run(Plan& plan, const Buffers& buffers) {
  return gather_packets(plan, buffers, kLL128);
}

}  // namespace crossrail::allgather_device::ll128
