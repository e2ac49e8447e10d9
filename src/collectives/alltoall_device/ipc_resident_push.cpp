// What   This is ipc_kernel_push with a kernel that stays on the device after a call and takes the next one from a word of host memory, without a
//        launch.
// When   One node, small blocks in quick succession; never chosen unless CROSSRAIL_RESIDENT is set.
// Cost   As ipc_kernel_push with 2 microseconds instead of a launch. One multiprocessor is kept busy, and
//        a device-wide synchronisation of the program waits until the kernel leaves: CROSSRAIL_RESIDENT
//        microseconds after the last call.
// Needs  As ipc_kernel_push, but no stream; CROSSRAIL_RESIDENT; blocks of no more than 64 KiB.
// From   Ours.

#include "collectives/device_rounds.h"

namespace crossrail::alltoall_device::ipc_resident_push {
namespace {
constexpr std::uint64_t kMostBytes = 64 * 1024;
}  // namespace

Fit fit(const Topology& topology, const Shape& shape) {
  return fit_devices(topology).needs(shape.order == Order::call, "a call that is not in a stream's order").at_most(kMostBytes);
}

Status plan(Plan& plan) {
  if (plan.settings->resident_us == 0) return failed(Code::unsupported, "CROSSRAIL_RESIDENT is not set");
  return plan_mapped(plan, MappedSide::recv);
}

Status run(Plan& plan, const Buffers& buffers) { return run_mapped(plan, buffers, {MappedSide::recv, CROSSRAIL_ENGINE_PERSISTENT}); }

}  // namespace crossrail::alltoall_device::ipc_resident_push
