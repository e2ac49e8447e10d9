// What   A kernel on every device copies what this rank sends into staging memory, piece by piece; after a meeting on the devices another one combines
//        this rank's share of all ranks' elements in the order of the ranks; after the next meeting all copy the results of the others.
// When   One node, in a stream's order, some hundred kilobytes of elements and more.
// Cost   Two kernels and two meetings of the devices for each piece of a share of up to 8 MiB + 2m(p-1)/p bytes into every device and m more through
//        its memory.
// Needs  As alltoall_device/staged_push.
// From   Reduce-scatter and allgather: Rabenseifner 2004; two-shot: MSCCL++; staging: NCCL's simple protocol.

#include "collectives/allreduce_device/staged.h"

namespace crossrail::allreduce_device::staged_two_shot {
namespace {

// The first half of the staging memory holds what is sent: when it is written over, all have combined it. The second half holds results.
std::byte* results(const Plan& plan, int rank) { return plan.devices->streams().staging(rank) + kStagingHalf; }

void add_results(const Plan& plan, const StagedShares& shares, std::size_t round, std::byte* recv, std::vector<crossrail_block>& blocks) {
  const int ranks = plan.group.size(), own = plan.group.index();
  for (int step = 1; step < ranks; ++step) {
    const int peer = (own + step) % ranks;
    blocks.push_back({recv + shares.place(round, peer), results(plan, peer), shares.bytes(round, peer)});
  }
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) {
  return fit_combining(topology, shape).needs(topology.size > 1, kSeveralRanks).needs(shape.order == Order::stream, kStreamOrder);
}

Status plan(Plan& plan) { return plan_staged_combining(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  const int own = plan.group.index();
  StreamOrder& streams = plan.devices->streams();
  CROSSRAIL_TRY(streams.check_peers());
  const StagedShares shares(plan, {buffers.send, device_block_bytes(plan.shape, plan.group.size()), plan.shape.block_bytes});
  CROSSRAIL_TRY(shares.copy_in(buffers.stream, 0, Meet::none));
  for (std::size_t round = 0; round < shares.pieces().rounds(); ++round) {
    const crossrail_combination combination = shares.combination(round, 0, {buffers.recv + shares.place(round, own), results(plan, own)});
    CROSSRAIL_TRY(streams.combination(buffers.stream, combination, Meet::before));
    std::vector<crossrail_block> blocks;
    add_results(plan, shares, round, buffers.recv, blocks);
    shares.add_copies_in(blocks, round + 1, 0);
    CROSSRAIL_TRY(streams.exchange(buffers.stream, blocks, CROSSRAIL_ENGINE_KERNEL, Meet::before));
  }
  return {};
}

}  // namespace crossrail::allreduce_device::staged_two_shot
