// What   This is ll_one_shot with packets of 128 bytes, the last 8 of them the number of the round.
// When   One node, up to some hundred kilobytes of elements.
// Cost   One kernel launch + one flight over the links; 16/15 m(p-1) bytes out of every device, and every element combined p times.
// Needs  As ll_one_shot; links that bring 128 bytes whole, as NVLink does.
// From   NCCL's LL128 protocol; one-shot: MSCCL++.

#include "collectives/device_packets.h"

namespace crossrail::allreduce_device::ll128_one_shot {
Fit fit(const Topology& topology, const Shape& shape) { return kLL128.fit_elements(topology, shape); }
Status plan(Plan& plan) { return plan_combined_packets(plan, kLL128); }
Status run(Plan& plan, const Buffers& buffers) { return reduce_packets(plan, buffers, kLL128); }
}  // namespace crossrail::allreduce_device::ll128_one_shot
