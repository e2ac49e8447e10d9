// What   As alltoall_device/staged_push, with one block for all receivers.
// When   One node, in a stream's order, blocks of some megabytes and more.
// Cost   As alltoall_device/staged_push.
// Needs  As alltoall_device/staged_push.
// From   As alltoall_device/staged_push.

#include "collectives/device_staged.h"

namespace crossrail::allgather_device::staged_push {

Fit fit(const Topology& topology, const Shape& shape) { return fit_device_staged(topology, shape); }

Status plan(Plan& plan) { return plan_staged(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes, before = block * static_cast<std::size_t>(plan.group.index());
  const bool in_place = buffers.send == buffers.recv;  // Each rank decides by itself.
  return exchange_staged(plan, buffers.stream, {in_place ? buffers.recv + before : buffers.send, buffers.recv, 0, block, block});
}

}  // namespace crossrail::allgather_device::staged_push
