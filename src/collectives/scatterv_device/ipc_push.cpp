// What   The root's device writes all blocks straight into their receivers' buffers: alltoallv_device/ipc_push with no blocks but the root's.
// When   One node, device memory.
// Cost   As alltoallv_device/ipc_push: one meeting of processors + one kernel launch + all bytes out of the root's device.
// Needs  As alltoallv_device/ipc_push. If a rank has no bytes at all, the call goes through host memory. Parameter: memcpy_threshold.
// From   IPC paper, sections III-C and VI (future work on gather and scatter).

#include "collectives/alltoallv_device/ipc_push.h"

#include "collectives/device_rounds.h"

namespace crossrail::scatterv_device::ipc_push {

Fit fit(const Topology& topology, const Shape& shape) { return fit_devices(topology).needs(shape.order == Order::call, kCallOrder); }

Status plan(Plan& plan) { return plan_mapped(plan, MappedSide::recv); }

Status run(Plan& plan, const Buffers& buffers) { return alltoallv_device::push_blocks(plan, buffers); }

}  // namespace crossrail::scatterv_device::ipc_push
