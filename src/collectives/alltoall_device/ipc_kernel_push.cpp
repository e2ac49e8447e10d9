// What   One kernel on every device writes this rank's blocks straight into the receivers' buffers, which the
//        ranks have mapped from each other; the processors meet before it and see its end.
// When   One node, small and medium blocks.
// Cost   One meeting of processors + one kernel launch + m(p-1) bytes through the device's links.
// Needs  Device memory that can be mapped by peers; else memory of ours on the way. Setting: CROSSRAIL_SMS.
//        In a stream's order: only what can be mapped, and as packet.
// From   IPC paper, section III-A (kernel-based); push: multi-rail poster.

#include "collectives/device_rounds.h"

namespace crossrail::alltoall_device::ipc_kernel_push {

Fit fit(const Topology& topology, const Shape&) { return fit_devices(topology); }

Status plan(Plan& plan) { return plan_mapped(plan, MappedSide::recv); }

Status run(Plan& plan, const Buffers& buffers) { return run_mapped(plan, buffers, {MappedSide::recv, CROSSRAIL_ENGINE_KERNEL}); }

}  // namespace crossrail::alltoall_device::ipc_kernel_push
