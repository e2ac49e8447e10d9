// What   Every device sends each other one its share of the elements in packets of 128 bytes, combines what comes in the order of the ranks, and sends
//        the results to all others.
// When   One node, in a stream's order, so many elements that links count more than a second flight over them.
// Cost   Two kernel launches (three where shares are not equal) + two flights over the links; 2 * 16/15 m(p-1)/p bytes out of every device.
// Needs  As ll128_one_shot.
// From   NCCL's LL128 protocol; reduce-scatter and allgather: Rabenseifner 2004; two-shot: MSCCL++.

#include <numeric>

#include "collectives/device_packets.h"

namespace crossrail::allreduce_device::ll128_two_shot {
namespace {

// Returns the length of equal shares of whole elements that begin at multiples of 16 bytes. What is left over is shorter than so many ranks' units.
std::size_t share_bytes(const Plan& plan) {
  constexpr std::size_t kUnitBytes = 16;
  const std::size_t grain = std::lcm(kUnitBytes, bytes_of(plan.shape.reduction.element));
  return plan.shape.block_bytes / static_cast<std::size_t>(plan.group.size()) / grain * grain;
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) { return kLL128.fit_elements(topology, shape).needs(shape.order == Order::stream, kStreamOrder); }

Status plan(Plan& plan) { return plan_combined_packets(plan, kLL128); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t share = share_bytes(plan), shared = share * static_cast<std::size_t>(plan.group.size()), rest = plan.shape.block_bytes - shared;
  std::byte* const own = buffers.recv + share * static_cast<std::size_t>(plan.group.index());
  if (share > 0) {
    CROSSRAIL_TRY(enqueue_combined_packets(plan, buffers.stream, kLL128, {buffers.send, own, share, 0, share}));
    CROSSRAIL_TRY(enqueue_packets(plan, buffers.stream, kLL128, {own, buffers.recv, 0, share, share}));
  }
  if (rest == 0) return {};
  return enqueue_combined_packets(plan, buffers.stream, kLL128, {buffers.send + shared, buffers.recv + shared, 0, 0, rest});
}

}  // namespace crossrail::allreduce_device::ll128_two_shot
