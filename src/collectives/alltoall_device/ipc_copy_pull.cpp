// What   The copy engines of every device read the blocks for this rank from the senders' buffers.
// When   One node, large blocks, where reading from peers is faster than writing.
// Cost   As ipc_copy_push.
// Needs  As ipc_kernel_push.
// From   IPC paper, section III-A (memcpy-based).

#include "collectives/device_rounds.h"

namespace crossrail::alltoall_device::ipc_copy_pull {

Fit fit(const Topology& topology, const Shape&) { return fit_devices(topology); }

Status plan(Plan& plan) { return plan_mapped(plan, MappedSide::send); }

Status run(Plan& plan, const Buffers& buffers) { return run_mapped(plan, buffers, {MappedSide::send, CROSSRAIL_ENGINE_COPY}); }

}  // namespace crossrail::alltoall_device::ipc_copy_pull
