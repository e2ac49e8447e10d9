// What   Every device writes this rank's block straight into all ranks' receive buffers, at the places that these have told, by one kernel or its
//        copy engines: an alltoallv in which a rank's blocks are one.
// When   One node, device memory.
// Cost   One meeting of processors, in which every rank says where blocks go + one kernel launch + m(p-1) bytes out of the device with the longest
//        block. Empty blocks cost nothing. Gaps as in alltoallv_device/ipc_push.
// Needs  Receiving sides in device memory that peers can map, in a row; else memory of ours on the way, in rounds where
//        CROSSRAIL_DEVICE_SCRATCH is less. Parameter: memcpy_threshold (bytes of a rank's block).
// From   As alltoallv_device/ipc_push.

#include "collectives/alltoallv_device/ipc_push.h"

#include "collectives/device_rounds.h"

namespace crossrail::allgatherv_device::ipc_push {

Fit fit(const Topology& topology, const Shape& shape) { return fit_devices(topology).needs(shape.order == Order::call, kCallOrder); }

Status plan(Plan& plan) { return plan_mapped(plan, MappedSide::recv); }

Status run(Plan& plan, const Buffers& buffers) { return alltoallv_device::push_blocks(plan, buffers); }

}  // namespace crossrail::allgatherv_device::ipc_push
