// What   A kernel on every device writes this rank's blocks into staging memory of the receivers, piece by piece, and copies what has come into the
//        program's buffer beside the next piece; ranks meet on the devices between the two.
// When   One node, in a stream's order, blocks of some megabytes and more.
// Cost   A kernel and a meeting of the devices for each piece of up to 8 MiB + m(p-1) bytes through the device's links and once more through its memory.
// Needs  Staging memory that all ranks have mapped since the first call; no rank waits for another on the host. Setting: CROSSRAIL_SMS.
// From   NCCL's simple protocol, with whole kernels for each piece; push: multi-rail poster.

#include "collectives/device_staged.h"

namespace crossrail::alltoall_device::staged_push {

Fit fit(const Topology& topology, const Shape& shape) { return fit_device_staged(topology, shape); }

Status plan(Plan& plan) { return plan_staged(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  return exchange_staged(plan, buffers.stream, {buffers.send, buffers.recv, block, block, block});
}

}  // namespace crossrail::alltoall_device::staged_push
