// What   Every device sends all of its rank's elements to all others in packets, data and the number of the round together, through
//        receive buffers, and combines what comes with its own.
// When   One node, few elements.
// Cost   One kernel launch + one flight over the links; 2m(p-1) bytes out of every device, and every element combined p times.
// Needs  A device for every rank, 8 ranks at most, receive buffers in device memory. In a stream's order: elements in a row.
// From   NCCL's LL protocol; one-shot: MSCCL++.

#include "collectives/device_packets.h"

namespace crossrail::allreduce_device::ll_one_shot {
Fit fit(const Topology& topology, const Shape& shape) { return kLL.fit_elements(topology, shape); }
Status plan(Plan& plan) { return plan_combined_packets(plan, kLL); }
Status run(Plan& plan, const Buffers& buffers) { return reduce_packets(plan, buffers, kLL); }
}  // namespace crossrail::allreduce_device::ll_one_shot
