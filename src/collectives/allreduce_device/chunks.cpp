// What   Through chunks as in alltoall_device/chunks, every rank gets its share of all ranks' elements and combines it in the order of the ranks,
//        and then all get all shares. Two ranks send each other all of their elements instead, which are as many bytes.
// When   One node, in a stream's order, some hundred kilobytes of elements and more.
// Cost   One kernel launch with two ranks, otherwise two and one for what does not divide evenly + 2m(p-1)/p bytes out of every device.
// Needs  Receive buffers in device memory; 8 ranks at most. No rank needs the address of another one's buffers, or waits for another on the host.
// From   NCCL's simple protocol; reduce-scatter and allgather: Rabenseifner 2004; two-shot: MSCCL++.

#include <numeric>

#include "collectives/device_packets.h"

namespace crossrail::allreduce_device::chunks {
namespace {

// Returns the length of equal shares of whole elements that begin at multiples of 16 bytes. What is left over is shorter than so many units.
std::size_t share_bytes(const Plan& plan) {
  constexpr std::size_t kUnitBytes = 16;
  const std::size_t grain = std::lcm(kUnitBytes, bytes_of(plan.shape.reduction.element));
  return plan.shape.block_bytes / static_cast<std::size_t>(plan.group.size()) / grain * grain;
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) { return kChunks.fit_elements(topology, shape).needs(shape.order == Order::stream, kStreamOrder); }

Status plan(Plan& plan) { return plan_combined_packets(plan, kChunks); }

Status run(Plan& plan, const Buffers& buffers) {
  constexpr int kWhole = 2;
  if (plan.group.size() <= kWhole) return reduce_packets(plan, buffers, kChunks);
  const std::size_t share = share_bytes(plan), shared = share * static_cast<std::size_t>(plan.group.size()), rest = plan.shape.block_bytes - shared;
  std::byte* const own = buffers.recv + share * static_cast<std::size_t>(plan.group.index());
  if (share > 0) {
    CROSSRAIL_TRY(enqueue_combined_packets(plan, buffers.stream, kChunks, {buffers.send, own, share, 0, share}));
    CROSSRAIL_TRY(enqueue_packets(plan, buffers.stream, kChunks, {own, buffers.recv, 0, share, share}));
  }
  if (rest == 0) return {};
  return enqueue_combined_packets(plan, buffers.stream, kLL, {buffers.send + shared, buffers.recv + shared, 0, 0, rest});
}

}  // namespace crossrail::allreduce_device::chunks
