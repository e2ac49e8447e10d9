#include "collectives/device_packets.h"

#include <algorithm>

#include "collectives/allreduce_device/combined.h"

namespace crossrail {
namespace {

// Without a reduction, blocks are kept separate.
crossrail_packets packets_of(const PacketForm& form, const PacketSides& sides, const crossrail_reduction& reduction = {}) {
  crossrail_packets packets{};
  packets.reduction = reduction;
  packets.form = form.form;
  packets.send = sides.send;
  packets.recv = sides.recv;
  packets.block_bytes = sides.block_bytes;
  packets.send_pitch = sides.send_pitch;
  packets.recv_pitch = sides.recv_pitch;
  return packets;
}

Status enqueue(Plan& plan, void* stream, const crossrail_packets& packets) {
  CROSSRAIL_TRY(plan.devices->streams().check_peers());
  return plan.devices->streams().packets(stream, packets);
}

// This is a call that returns when it is done; its packets carry its round.
// Only this rank touches its sides, so rounds may follow each other directly.
struct Call {
  Plan& plan;
  const Buffers& buffers;
  crossrail_packets packets;

  Status run(const DeviceRound& round) {
    DeviceSharing& devices = *plan.devices;
    DeviceWork work;
    CROSSRAIL_TRY(stage_in(plan, buffers, round, work));
    packets.block_bytes = round.bytes;
    packets.send = sent_block(plan, buffers, round, 0);
    packets.recv = received_block(plan, buffers, round, 0);
    const bool apart = packets.reduction.operation == 0;
    if (apart) packets.send_pitch = devices.staged(MappedSide::send) ? devices.chunk() : round.block;
    if (apart) packets.recv_pitch = devices.staged(MappedSide::recv) ? devices.chunk() : round.block;
    devices.receive_buffers().address(packets);
    CROSSRAIL_TRY(devices.queue().begin_packets(packets, work));
    CROSSRAIL_TRY(devices.queue().finish(work));
    return stage_out(plan, buffers, round);
  }
};

}  // namespace

Fit PacketForm::fit_elements(const Topology& topology, const Shape& shape) const {
  constexpr std::size_t kUnit = 16;
  const std::size_t element = bytes_of(shape.reduction.element);
  const std::size_t unit = element == 0 || kUnit % element == 0 ? kUnit : element;  // It is at most kUnit.
  return fit(topology)
      .needs(topology.size <= CROSSRAIL_MOST_COMBINING, kFewCombining)
      .needs(allreduce_device::known_to_devices(shape.reduction), allreduce_device::kKnownToDevices)
      .at_most(most_bytes(topology.size) / kUnit * unit);
}

Status plan_packets(Plan& plan, const PacketForm& form) {
  if (plan.shape.order == Order::call) CROSSRAIL_TRY(plan.devices->queue().may_wait_for_peers());
  CROSSRAIL_TRY(plan_mapped(plan, MappedSide::none));
  const std::size_t most = form.most_bytes(plan.group.size());
  if (plan.shape.order == Order::call) return plan.devices->receive_buffers().open(form.form, most);
  return plan.devices->streams().takes(form.form) ? Status{} : failed(Code::unsupported, kNoPackets);
}

Status plan_combined_packets(Plan& plan, const PacketForm& form) {
  CROSSRAIL_TRY(allreduce_device::has_kernels(plan));
  return plan_packets(plan, form);
}

Status enqueue_packets(Plan& plan, void* stream, const PacketForm& form, const PacketSides& sides) {
  return enqueue(plan, stream, packets_of(form, sides));
}

Status enqueue_combined_packets(Plan& plan, void* stream, const PacketForm& form, const PacketSides& sides) {
  return enqueue(plan, stream, packets_of(form, sides, allreduce_device::reduction_of(plan)));
}

Status gather_packets(Plan& plan, const Buffers& buffers, const PacketForm& form) {
  const std::size_t block = plan.shape.block_bytes;
  const bool in_place = buffers.send == buffers.recv;  // Each rank decides by itself.
  const std::byte* const own = buffers.send + (in_place ? block * static_cast<std::size_t>(plan.group.index()) : 0);
  return enqueue_packets(plan, buffers.stream, form, {own, buffers.recv, 0, block, block});
}

Status scatter_packets(Plan& plan, const Buffers& buffers, const PacketForm& form) {
  const std::size_t block = plan.shape.block_bytes;
  return enqueue_combined_packets(plan, buffers.stream, form, {buffers.send, buffers.recv, block, 0, block});
}

Status exchange_packets(Plan& plan, const Buffers& buffers, const PacketForm& form) {
  const std::size_t block = plan.shape.block_bytes, chunk = plan.devices->chunk();
  if (plan.shape.order == Order::stream) return enqueue_packets(plan, buffers.stream, form, {buffers.send, buffers.recv, block, block, block});
  Call call{plan, buffers, packets_of(form, {})};
  for (std::size_t from = 0; from < block; from += chunk) CROSSRAIL_TRY(call.run(round_of(plan, from, std::min(chunk, block - from))));
  return {};
}

Status reduce_packets(Plan& plan, const Buffers& buffers, const PacketForm& form) {
  if (plan.shape.order == Order::stream) return enqueue_combined_packets(plan, buffers.stream, form, {buffers.send, buffers.recv, 0, 0, plan.shape.block_bytes});
  // All elements are one block. All ranks come to the same answer whether there is room to stage it.
  const std::size_t bytes = plan.shape.block_bytes;
  if (plan.devices->chunk() * static_cast<std::size_t>(plan.group.size()) < bytes) return failed(Code::unsupported, "no room to stage all elements");
  return Call{plan, buffers, packets_of(form, {}, allreduce_device::reduction_of(plan))}.run({0, bytes, bytes, bytes});
}

}  // namespace crossrail
