// What   A kernel on every device, or its copy engines, write this rank's block to its place in all ranks' receive buffers, which the ranks have
//        mapped from each other; the processors meet before it and see its end.
// When   One node.
// Cost   One meeting of processors + one kernel launch + m(p-1) bytes out of every device.
// Needs  Device memory that can be mapped by peers; else, and for gaps, memory of ours on the way. Parameter: memcpy_threshold. Setting: CROSSRAIL_SMS.
// From   IPC paper, section III-A, with one block for all.

#include "collectives/device_rounds.h"
#include "collectives/parameters.h"

namespace crossrail::allgather_device::ipc_push {
namespace {

// The side that is sent: a block, or in place all of them, of which one is this rank's.
struct OwnBlock {
  DeviceRound round;
  int number;
};

OwnBlock own_block(const Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  if (buffers.send == buffers.recv) return {round, plan.group.index()};
  return {{round.from, round.bytes, round.block, round.block}, 0};
}

void lay_out(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  const OwnBlock own = own_block(plan, buffers, round);
  const std::byte* const from = sent_block(plan, buffers, own.round, own.number);
  const int rank = plan.group.index(), size = plan.group.size();
  auto& blocks = plan.device_blocks.exchanged;
  std::byte* const mine = received_block(plan, buffers, round, rank);
  blocks[0] = {mine, from, mine == from ? 0 : round.bytes};
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    blocks[static_cast<std::size_t>(step)] = {plan.devices->block({peer, MappedSide::recv, static_cast<std::size_t>(rank), round.from}), from, round.bytes};
  }
}

Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  DeviceSharing& devices = *plan.devices;
  DeviceWork staging, exchange;
  CROSSRAIL_TRY(stage_in(plan, buffers, own_block(plan, buffers, round).round, staging));
  // Peers may still be taking out what they got in the round before.
  if (round.from > 0) CROSSRAIL_TRY(plan.control->barrier());
  lay_out(plan, buffers, round);
  const bool long_block = plan.shape.block_bytes >= plan.parameter(parameters::memcpy_threshold);
  const crossrail_engine engine = long_block ? CROSSRAIL_ENGINE_COPY : CROSSRAIL_ENGINE_KERNEL;
  CROSSRAIL_TRY(devices.queue().begin_exchange(plan.device_blocks.exchanged, engine_for(plan, round, engine), exchange));
  CROSSRAIL_TRY(devices.queue().finish(exchange));
  return stage_out(plan, buffers, round);
}

}  // namespace

bool fits(const Topology& topology, const Shape& shape) { return on_one_node(topology) && shape.order == Order::call; }

Status plan(Plan& plan) { return plan_mapped(plan, MappedSide::recv); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t chunk = plan.devices->chunk();
  for (std::size_t from = 0; from < block; from += chunk) {
    CROSSRAIL_TRY(run_round(plan, buffers, round_of(plan, from, std::min(chunk, block - from))));
  }
  return {};
}

}  // namespace crossrail::allgather_device::ipc_push
