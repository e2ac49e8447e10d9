// What   This is packet with packets of 128 bytes, the last 8 of them the number of the round: eight threads write one in a single instruction, and
//        NVLink delivers it whole.
// When   One node, blocks up to some hundred kilobytes.
// Cost   One kernel launch + one flight over the links; 16/15 of the bytes.
// Needs  As packet; links that bring 128 bytes whole, as NVLink does; 8 ranks at most.
// From   NCCL's LL128 protocol.

#include "collectives/device_packets.h"

namespace crossrail::alltoall_device::ll128 {
Fit fit(const Topology& topology, const Shape&) { return kLL128.fit(topology); }
Status plan(Plan& plan) { return plan_packets(plan, kLL128); }
Status run(Plan& plan, const Buffers& buffers) { return exchange_packets(plan, buffers, kLL128); }
}  // namespace crossrail::alltoall_device::ll128
