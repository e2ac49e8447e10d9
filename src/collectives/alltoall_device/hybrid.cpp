// What   The algorithm that is best for the size of the block: packet below ipc_threshold,
//        ipc_kernel_push below memcpy_threshold, ipc_copy_push from there on; ipc_resident_push for all
//        blocks that it takes, where CROSSRAIL_RESIDENT is set.
// When   One node.
// Cost   That of its parts.
// Needs  As its parts. Parameters: ipc_threshold, memcpy_threshold (bytes of a block).
// From   IPC paper, section III-A: 4 KiB and 512 KiB on the paper's machine.

#include "collectives/device_rounds.h"
#include "collectives/parameters.h"

namespace crossrail::alltoall_device::hybrid {
namespace {

const Algorithm* part(const char* name) { return find_algorithm(Collective::alltoall, name, Memory::device); }

const Algorithm* part_for(const Plan& plan) {
  const std::uint64_t block = plan.shape.block_bytes;
  const Settings& settings = *plan.settings;
  const Algorithm* persistent = part("ipc_resident_push");  // It is null if it is not built (CROSSRAIL_PAPER_ROWS).
  // Kernels that stay on the device, or wait for each other, must not keep other ranks from it.
  const bool alone = plan.shape.order == Order::stream || plan.devices->queue().may_wait_for_peers().ok();
  if (persistent != nullptr && settings.resident_us != 0 && persistent->fits(*plan.topology, plan.shape) && alone) return persistent;
  const Algorithm* packet = part("packet");
  const bool small = block < plan.parameter(parameters::ipc_threshold);
  if (small && packet->fits(*plan.topology, plan.shape) && alone) return packet;
  return part(engine_for_length(plan, block, plan.parameter(parameters::memcpy_threshold)) == CROSSRAIL_ENGINE_COPY ? "ipc_copy_push" : "ipc_kernel_push");
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_devices(topology); }

Status plan(Plan& plan) {
  const Algorithm* chosen = part_for(plan);
  plan.part = chosen->name;
  plan.run = chosen->run;
  return chosen->plan(plan);
}

// It is never called, because a plan of this row runs its part.
Status run(Plan&, const Buffers&) { return failed(Code::broken, "hybrid has no part"); }

}  // namespace crossrail::alltoall_device::hybrid
