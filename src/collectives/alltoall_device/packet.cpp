// What   A kernel on every device writes packets, data and the number of the round together, into the
//        receive buffers of its peers, waits for theirs and puts the data where the program wants them.
// When   One node, small blocks; like ll128, maps none of the program's memory.
// Cost   One kernel launch + one flight over the links; twice the bytes.
// Needs  A device for every rank (kernels that wait for each other must run at the same time), receive
//        buffers in device memory. In a stream's order: contiguous blocks.
// From   Ours, for the IPC paper's small blocks; packets: NCCL's LL, MSCCL++.

#include "collectives/device_packets.h"

namespace crossrail::alltoall_device::packet {
Fit fit(const Topology& topology, const Shape&) { return kLL.fit(topology); }
Status plan(Plan& plan) { return plan_packets(plan, kLL); }
Status run(Plan& plan, const Buffers& buffers) { return exchange_packets(plan, buffers, kLL); }
}  // namespace crossrail::alltoall_device::packet
