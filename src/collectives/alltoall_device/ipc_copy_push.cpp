// What   The copy engines of every device write this rank's blocks into the receivers' buffers; the rank's
//        own block goes beside them.
// When   One node, large blocks: the links run full and no multiprocessor is used.
// Cost   One meeting of processors + a start of some microseconds + m(p-1) bytes at the copy engines' speed.
// Needs  As ipc_kernel_push.
// From   IPC paper, section III-A (memcpy-based).

#include "collectives/device_rounds.h"

namespace crossrail::alltoall_device::ipc_copy_push {

Fit fit(const Topology& topology, const Shape&) { return fit_devices(topology); }

Status plan(Plan& plan) { return plan_mapped(plan, MappedSide::recv); }

Status run(Plan& plan, const Buffers& buffers) { return run_mapped(plan, buffers, {MappedSide::recv, CROSSRAIL_ENGINE_COPY}); }

}  // namespace crossrail::alltoall_device::ipc_copy_push
