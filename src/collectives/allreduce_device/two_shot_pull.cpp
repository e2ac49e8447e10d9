// What   Both halves of a two-shot allreduce in one kernel: every device reads its rank's share of all ranks' elements where they lie, combines them,
//        and writes the results to all ranks at once. A unit is read from all ranks before it is written anywhere, and by one device only. Therefore
//        calls may be in place, and nothing is waited for between the halves. Large shares are combined by one launch and written to the other ranks
//        by a second, because reading and writing at the same time slow each other down.
// When   One node, any number of elements.
// Cost   One meeting of processors + one kernel launch + m(p-1)/p bytes into and out of every device, twice.
//        Parameter: halves (bytes of a share).
// Needs  Both sides in device memory that peers can map; else, and where elements have gaps, memory of ours on the way, in rounds where
//        CROSSRAIL_DEVICE_SCRATCH is less. Setting: CROSSRAIL_SMS. In a stream's order: only what can be mapped.
// From   Reduce-scatter and allgather: Rabenseifner 2004; over mapped memory: multi-rail poster, MSCCL++ (two-shot).

#include <algorithm>

#include "collectives/allreduce_device/combined.h"
#include "collectives/parameters.h"

namespace crossrail::allreduce_device::two_shot_pull {
namespace {

// The shares that this rank launches have the same place on all ranks and both
// sides. They follow each other, so in a round of whole shares they are one.
std::span<crossrail_combination> lay_out(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  const int size = plan.group.size();
  const bool in_a_row = round.bytes == round.block && plan.devices->chunk() == round.block;
  Shares& shares = plan.kept<Shares>();
  shares.clear();
  for (const int number : plan.device_blocks.launched) {
    if (in_a_row && !shares.all().empty()) {
      shares.extend(round.of(number));
      continue;
    }
    const Share share = shares.add(plan, {size, size}, round.of(number));
    for (int step = 0; step < size; ++step) {
      const int peer = (plan.group.index() + step) % size;
      share.from[peer] = block_of(plan, buffers, round, {peer, MappedSide::send, number});
      share.to[step] = block_of(plan, buffers, round, {peer, MappedSide::recv, number});
    }
  }
  return shares.all();
}

// Returns whether the halves go one after the other. All ranks come to the same answer.
bool is_apart(const Plan& plan, const DeviceRound& round) {
  return round.bytes >= plan.parameter(parameters::halves) && plan.devices->queue().devices().size() > 1;
}

// The results are written only to this rank's memory; `plan.device_blocks.exchanged` takes them to the others.
void set_apart(Plan& plan, std::span<crossrail_combination> shares) {
  auto& blocks = plan.device_blocks.exchanged;
  std::fill(blocks.begin(), blocks.end(), crossrail_block{});
  std::size_t next = 0;
  for (crossrail_combination& share : shares) {
    for (int other = 1; other < share.to_count; ++other) blocks[next++] = {share.to[other], share.to[0], share.bytes};
    share.to_count = 1;
  }
}

Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  DeviceSharing& devices = *plan.devices;
  DeviceWork staging, combined, spread;
  CROSSRAIL_TRY(stage_in(plan, buffers, round, staging));
  CROSSRAIL_TRY(meet_staged(plan, staging, round.from > 0));
  const auto shares = lay_out(plan, buffers, round);
  const bool apart = is_apart(plan, round);
  if (apart) set_apart(plan, shares);
  CROSSRAIL_TRY(devices.queue().begin_combinations(shares, combined, Launch::one_a_device));
  if (apart) CROSSRAIL_TRY(devices.queue().begin_exchange(plan.device_blocks.exchanged, CROSSRAIL_ENGINE_KERNEL, spread, Launch::one_a_device));
  CROSSRAIL_TRY(devices.queue().finish(combined));
  if (apart) CROSSRAIL_TRY(devices.queue().finish(spread));
  return stage_out(plan, buffers, round);
}

Status enqueue(Plan& plan, const Buffers& buffers, const DeviceRound& whole) {
  CROSSRAIL_TRY(map_for_stream(plan));
  StreamOrder& streams = plan.devices->streams();
  const auto shares = lay_out(plan, buffers, whole);
  const bool apart = is_apart(plan, whole);
  if (apart) set_apart(plan, shares);
  CROSSRAIL_TRY(streams.combination(buffers.stream, shares.front(), apart ? Meet::before : Meet::both));
  return apart ? streams.exchange(buffers.stream, plan.device_blocks.exchanged, CROSSRAIL_ENGINE_KERNEL, Meet::after) : Status{};
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) { return fit_combining(topology, shape); }

Status plan(Plan& plan) {
  CROSSRAIL_TRY(has_kernels(plan));
  CROSSRAIL_TRY(plan_mapped(plan, MappedSide::both));
  // It does not matter which rank has which share, so a launcher takes consecutive ones and combines them together. In a stream's order every rank
  // has its own.
  int next = plan.shape.order == Order::stream ? plan.group.index() : plan.devices->queue().launched_before();
  for (int& share : plan.device_blocks.launched) share = next++;
  plan.keep(Shares(plan));
  return {};
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = device_block_bytes(plan.shape, plan.group.size()), all = plan.shape.block_bytes;
  if (plan.shape.order == Order::stream) return enqueue(plan, buffers, {0, block, block, all});
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t chunk = plan.devices->chunk(), element = bytes_of(plan.shape.reduction.element);
  const std::size_t step = chunk < block ? chunk / element * element : block;
  for (std::size_t from = 0; from < block; from += step) {
    CROSSRAIL_TRY(run_round(plan, buffers, {from, std::min(step, block - from), block, all}));
  }
  return {};
}

}  // namespace crossrail::allreduce_device::two_shot_pull
