// What   A kernel on every device copies what this rank sends into staging memory, piece by piece; after a meeting on the devices another one reads this
//        rank's block from all ranks' staging memory, combines it in the order of the ranks, and writes the result.
// When   One node, in a stream's order, blocks of some hundred kilobytes and more.
// Cost   Two kernels and a meeting of the devices for each piece of up to 8 MiB + m(p-1) bytes into every device and once more through its memory.
// Needs  As alltoall_device/staged_push; not in place.
// From   As alltoall_device/staged_push; over mapped memory: MSCCL++.

#include "collectives/allreduce_device/staged.h"

namespace crossrail::reduce_scatter_block_device::staged_pull {

Fit fit(const Topology& topology, const Shape& shape) {
  return allreduce_device::fit_combining(topology, shape)
      .needs(topology.size > 1, kSeveralRanks)
      .needs(shape.order == Order::stream, kStreamOrder)
      .needs(!shape.in_place, "two buffers, not MPI_IN_PLACE");
}

Status plan(Plan& plan) { return allreduce_device::plan_staged_combining(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  StreamOrder& streams = plan.devices->streams();
  CROSSRAIL_TRY(streams.check_peers());
  allreduce_device::StagedShares shares(plan, {buffers.send, block, block * static_cast<std::size_t>(plan.group.size())});
  CROSSRAIL_TRY(shares.copy_in(buffers.stream, 0, Meet::none));
  for (std::size_t round = 0; round < shares.pieces().rounds(); ++round) {
    const crossrail_combination combination = shares.combination(round, {buffers.recv + shares.pieces().from(round), nullptr});
    CROSSRAIL_TRY(streams.combination(buffers.stream, combination, shares.pieces().meeting(round)));
    CROSSRAIL_TRY(shares.copy_in(buffers.stream, round + 1, Meet::none));
  }
  return {};
}

}  // namespace crossrail::reduce_scatter_block_device::staged_pull
