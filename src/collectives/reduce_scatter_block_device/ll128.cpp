// What   Every device sends all others their blocks in packets of 128 bytes, data and the number of the round together, through receive
//        buffers, and combines what comes with its own in the order of the ranks.
// When   One node, in a stream's order, blocks up to some hundred kilobytes. Calls that return when they are done end sooner with ipc_pull.
// Cost   One kernel launch + one flight over the links; 16/15 m(p-1) bytes out of every device.
// Needs  As allreduce_device/ll128_one_shot; not in place.
// From   NCCL's LL128 protocol.

#include "collectives/device_packets.h"

namespace crossrail::reduce_scatter_block_device::ll128 {
Fit fit(const Topology& topology, const Shape& shape) { return kLL128.fit_scattered(topology, shape); }
Status plan(Plan& plan) { return plan_combined_packets(plan, kLL128); }
Status run(Plan& plan, const Buffers& buffers) { return scatter_packets(plan, buffers, kLL128); }
}  // namespace crossrail::reduce_scatter_block_device::ll128
