// What   One kernel on every device reads the blocks for this rank straight from the senders' buffers.
// When   One node, small and medium blocks, where reading from peers is faster than writing.
// Cost   As ipc_kernel_push; a read crosses the links twice before its data come.
// Needs  As ipc_kernel_push.
// From   IPC paper, section III-A (kernel-based); pull: multi-rail poster.

#include "collectives/device_rounds.h"

namespace crossrail::alltoall_device::ipc_kernel_pull {

Fit fit(const Topology& topology, const Shape&) { return fit_devices(topology); }

Status plan(Plan& plan) { return plan_mapped(plan, MappedSide::send); }

Status run(Plan& plan, const Buffers& buffers) { return run_mapped(plan, buffers, {MappedSide::send, CROSSRAIL_ENGINE_KERNEL}); }

}  // namespace crossrail::alltoall_device::ipc_kernel_pull
