// What   A kernel on every device, or its copy engines, write this rank's block to its place in all ranks' receive buffers, which the ranks have
//        mapped from each other; the processors meet before it and see its end.
// When   One node.
// Cost   One meeting of processors + one kernel launch + m(p-1) bytes out of every device.
// Needs  Device memory that can be mapped by peers; else, and for gaps, memory of ours on the way. In a stream's order: only what can be
//        mapped. Parameter: memcpy_threshold. Setting: CROSSRAIL_SMS.
// From   IPC paper, section III-A, with one block for all.

#include <algorithm>

#include "collectives/device_rounds.h"
#include "collectives/parameters.h"

namespace crossrail::allgather_device::ipc_push {
namespace {

// The sending side is one block or, in place, all blocks, of which the owner sends its own.
int number_of_sent(const Plan& plan, int owner) { return plan.devices->in_place(owner) ? owner : 0; }
DeviceRound sent_round(const Plan& plan, const DeviceRound& round) {
  return plan.devices->in_place(plan.group.index()) ? round : DeviceRound{round.from, round.bytes, round.block, round.block};
}

// A block that already lies in the receiving side need not be moved, which never happens in staging memory.
void lay_out(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  const int size = plan.group.size();
  std::size_t next = 0;
  for (int step = 0; step < size; ++step) {
    for (const int owner : plan.device_blocks.launched) {
      std::byte* const from = block_of(plan, buffers, round, {owner, MappedSide::send, number_of_sent(plan, owner)});
      std::byte* const to = block_of(plan, buffers, round, {(owner + step) % size, MappedSide::recv, owner});
      plan.device_blocks.exchanged[next++] = {to, from, to == from ? 0 : round.bytes};
    }
  }
}

crossrail_engine engine_of(const Plan& plan) {
  return engine_for(plan, engine_for_length(plan, plan.shape.block_bytes, plan.parameter(parameters::memcpy_threshold)));
}

Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  DeviceSharing& devices = *plan.devices;
  DeviceWork staging, exchange;
  CROSSRAIL_TRY(stage_in(plan, buffers, sent_round(plan, round), staging));
  CROSSRAIL_TRY(meet_staged(plan, staging, round.from > 0));
  lay_out(plan, buffers, round);
  CROSSRAIL_TRY(devices.queue().begin_exchange(plan.device_blocks.exchanged, engine_of(plan), exchange, Launch::one_a_device));
  CROSSRAIL_TRY(devices.queue().finish(exchange));
  return stage_out(plan, buffers, round);
}

Status enqueue(Plan& plan, const Buffers& buffers, const DeviceRound& whole) {
  CROSSRAIL_TRY(map_for_stream(plan));
  lay_out(plan, buffers, whole);
  return plan.devices->streams().exchange(buffers.stream, plan.device_blocks.exchanged, engine_of(plan), Meet::both);
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_devices(topology); }

Status plan(Plan& plan) { return plan_mapped(plan, MappedSide::recv); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (plan.shape.order == Order::stream) return enqueue(plan, buffers, round_of(plan, 0, block));
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t chunk = plan.devices->chunk();
  for (std::size_t from = 0; from < block; from += chunk) {
    CROSSRAIL_TRY(run_round(plan, buffers, round_of(plan, from, std::min(chunk, block - from))));
  }
  return {};
}

}  // namespace crossrail::allgather_device::ipc_push
