#include "engine/device_call.h"

#include <array>
#include <bit>
#include <iterator>

#include "base/log.h"
#include "collectives/algorithm.h"
#include "collectives/device_packets.h"
#include "device/device.h"
#include "engine/device_messages.h"
#include "engine/engine.h"

namespace crossrail {
namespace {

bool has_device_rows(Collective collective) {
  static const auto known = [] {
    std::array<bool, std::size(kCollectives)> has{};
    for (const Collective one : kCollectives) has[static_cast<std::size_t>(one)] = !catalogue(one, Memory::device).empty();
    return has;
  }();
  return known[static_cast<std::size_t>(collective)];
}

bool moves_nothing(const Shape& shape) { return row_of(shape.collective).counts != Counts::vector && shape.block_bytes == 0; }

// Descriptors can be exchanged only if all ranks of the node have loaded a device module.
Status look_for_modules(Slot& slot, bool& active) {
  active = false;
  if (slot.devices == nullptr) return {};
  CROSSRAIL_TRY(slot.devices->look_for_modules());
  active = slot.devices->active();
  return {};
}

// Describes the sides of the call. If all blocks have one length, the sides do not contain it, and the description does.
DeviceCall described(const Slot& slot, const Shape& shape, UserBuffers& user) {
  DeviceCall call = user.on_devices();
  if (call.block_bytes == 0) call.block_bytes = device_block_bytes(shape, slot.owner.topology.size);
  if (!slot.owner.topology.one_node()) call.node = &slot.owner.topology.node_ranks();
  return call;
}

// In place, a rank would overwrite what its peers have not read yet.
bool writes_over_itself(const Shape& shape, const UserBuffers& user) {
  const CollectiveRow& row = row_of(shape.collective);
  const bool scatters_results = row.reduces && row.counts != Counts::elements;
  return shape.in_place || (scatters_results && user.in_place());
}

// Runs the plan on devices. `done` is false, on all ranks alike, if some rank cannot map the memory of another one.
Status run_mapped(Slot& slot, Plan& plan, UserBuffers& user, bool& done) {
  const Status status = run_plan(plan, user.device_buffers(), slot.owner.topology.one_node() ? plan.run : plan.run_on_devices);
  slot.devices->end_call();
  done = status.code != Code::unsupported;
  if (!done) log_line(LogLevel::plan, "this call goes through host memory: %s", status.what);
  return done ? status : Status{};
}

// Finds the plan for a call on device memory, and exchanges the call's descriptors.
// The plan is null if some rank has a side elsewhere or no algorithm fits.
Status plan_on_devices(Slot& slot, const Shape& shape, const DeviceCall& call, Plan*& plan) {
  DeviceSharing& devices = *slot.devices;
  Plan* known = slot.plans.find(shape);
  bool on_devices = false;
  CROSSRAIL_TRY(devices.exchange_descriptors(call, known == nullptr ? MappedSide::none : known->mapped, on_devices));
  if (!on_devices) return {};
  if (known == nullptr) {
    if (slot.pending && !has_row(slot, shape)) return {};
    CROSSRAIL_TRY(plan_for(slot, shape, known));
    if (known->mapped != MappedSide::none) CROSSRAIL_TRY(devices.exchange_descriptors(call, known->mapped, on_devices));
  }
  if (on_devices || known->native()) plan = known;
  return {};
}

}  // namespace

bool may_be_on_devices(const Slot& slot, const Shape& shape) {
  return slot.devices != nullptr && slot.owner.topology.one_node() && !moves_nothing(shape) && has_device_rows(shape.collective);
}

Status run_on_devices(Slot& slot, Shape shape, UserBuffers& user, Plan*& plan) {
  bool active = false, done = false;
  CROSSRAIL_TRY(look_for_modules(slot, active));
  if (!active) return {};
  shape.memory = Memory::device;
  DeviceCall call = described(slot, shape, user);
  call.send.ours = call.send.ours || writes_over_itself(shape, user);
  Plan* known = nullptr;
  CROSSRAIL_TRY(plan_on_devices(slot, shape, call, known));
  if (known == nullptr) return {};
  if (known->native() && !known->fallback) plan = known;  // A row of the table asks for this.
  if (known->native()) return {};
  const Status status = run_mapped(slot, *known, user, done);
  if (done) plan = known;
  return status;
}

Status ask_for_drivers(Slot& slot) {
  Communicator& communicator = slot.owner;
  if (communicator.topology.one_node() || communicator.native_only || communicator.devices || slot.pending) return {};
  if (!std::has_single_bit(++communicator.calls)) return {};
  std::uint32_t some = device::driver_present() ? 1 : 0;
  CROSSRAIL_TRY(agree_on_largest(slot, some, some));
  communicator.devices = some != 0;
  if (communicator.devices) slot.plans.clear();
  return {};
}

Status first_on_devices(Slot& slot, const Shape& shape, UserBuffers& user, bool& on_devices) {
  on_devices = false;
  if (slot.owner.topology.one_node() || moves_nothing(shape) || slot.plans.find(shape) != nullptr) return {};
  bool active = false, here = false;
  CROSSRAIL_TRY(look_for_modules(slot, active));
  if (active) {
    CROSSRAIL_TRY(slot.devices->exchange_descriptors(described(slot, shape, user), MappedSide::none, here));
    slot.devices->end_call();
  }
  std::uint32_t elsewhere = here ? 0 : 1;
  CROSSRAIL_TRY(agree_on_largest(slot, elsewhere, elsewhere));
  on_devices = elsewhere == 0;
  return on_devices ? try_device_messages(slot) : Status{};
}

Status run_on_devices_of_node(Slot& slot, UserBuffers& user, Plan& plan, bool& done) {
  done = false;
  if (slot.owner.topology.one_node()) return {};  // The call could not run on the devices of the only node.
  const bool vector = row_of(plan.shape.collective).counts == Counts::vector;
  if (plan.device_block_bytes == 0 && !vector) return {};
  if (slot.devices == nullptr || !slot.devices->attends_call()) return {};
  bool active = false, on_devices = false;
  CROSSRAIL_TRY(look_for_modules(slot, active));
  if (!active) return {};
  DeviceCall call = described(slot, plan.shape, user);
  if (!vector) call.block_bytes = plan.device_block_bytes;
  call.needs = plan.device_needs;
  call.needs.room.where = where_messages_are(slot.owner, call.needs.room);
  CROSSRAIL_TRY(slot.devices->exchange_descriptors(call, plan.mapped, on_devices));
  if (!on_devices) return {};
  const Status status = run_mapped(slot, plan, user, done);
  if (done) ++plan.calls_on_devices;
  return status;
}

namespace {

// Nothing is staged in a stream's order. A side that would have to be is described as lying nowhere.
DeviceCall described_for_stream(const Slot& slot, const Shape& shape, UserBuffers& user) {
  DeviceCall call = described(slot, shape, user);
  call.stays = true;
  const auto as_it_lies = [](const DeviceSide& side) { return !side.ours && !side.gaps; };
  if (!as_it_lies(call.send) || !as_it_lies(call.recv) || writes_over_itself(shape, user)) call.send = call.recv = {};
  return call;
}

Status check_that_all(bool on_devices) {
  if (on_devices) return {};
  return failed(Code::unsupported, "some rank's buffers have gaps, are not in device memory that the others can map, or are the same although results would "
                                   "overwrite what others read");
}

// The first call opens what all later ones need. Afterwards ranks meet here only for what peers must map.
Status open_streams(Slot& slot, const DeviceCall& call, WantsMessages messages = WantsMessages::unasked) {
  DeviceSharing& devices = *slot.devices;
  if (devices.streams().is_open()) return {};
  bool on_devices = false;
  CROSSRAIL_TRY(devices.exchange_descriptors(call, MappedSide::none, on_devices));
  CROSSRAIL_TRY(check_that_all(on_devices));
  const int ranks = slot.owner.topology.size;
  return devices.streams().open({kLL.longest(ranks), kLL128.longest(ranks), kChunks.longest(ranks)}, messages);
}

Status look_for_modules_of_all(Slot& slot) {
  if (slot.owner.broken) return failed(Code::broken, "this communicator has met an error");
  if (slot.owner.topology.size == 1 && slot.control == nullptr) CROSSRAIL_TRY(slot.owner.place_alone());
  if (slot.devices == nullptr || !slot.owner.topology.one_node()) return failed(Code::unsupported, "the ranks are not on one node, or share no memory there");
  bool active = false;
  CROSSRAIL_TRY(look_for_modules(slot, active));
  return active ? Status{} : failed(Code::unsupported, "some rank has no device module, or memory that no other can map");
}

// The plan may be one for which peers map memory.
Status plan_in_stream(Slot& slot, const Shape& shape, UserBuffers& user, Plan*& plan) {
  CROSSRAIL_TRY(open_streams(slot, described_for_stream(slot, shape, user)));
  CROSSRAIL_TRY(plan_for(slot, shape, plan));
  if (plan->mapped == MappedSide::none) return {};
  bool on_devices = false;
  CROSSRAIL_TRY(slot.devices->exchange_descriptors(described_for_stream(slot, shape, user), plan->mapped, on_devices));
  return check_that_all(on_devices);
}

}  // namespace

Status open_stream_order(Slot& slot, const DeviceSide& near, WantsMessages messages) {
  CROSSRAIL_TRY(look_for_modules_of_all(slot));
  return open_streams(slot, {near, near}, messages);
}

// No call of all ranks begins here: the ranks would not agree on the number of their calls.
Status messages_on_stream(Slot& slot, const Messages& messages, void* stream) {
  if (slot.owner.broken) return failed(Code::broken, "this communicator has met an error");
  return slot.devices->streams().messages(stream == nullptr ? CROSSRAIL_DEFAULT_STREAM : stream, messages);
}

bool meets_nobody(Slot& slot, const Shape& shape) {
  Plan* plan = nullptr;
  return plan_for(slot, shape, plan).ok() && plan->mapped == MappedSide::none;
}

Status check_own_sides(Slot& slot, const Shape& shape, UserBuffers& user) {
  if (shape.in_place) return failed(Code::unsupported, "not in place");
  if (moves_nothing(shape) || slot.devices == nullptr || !slot.devices->active() || !slot.devices->streams().is_open()) return {};
  Plan* plan = nullptr;
  CROSSRAIL_TRY(plan_for(slot, shape, plan));
  if (plan->mapped != MappedSide::none || slot.devices->is_on_device(described_for_stream(slot, shape, user))) return {};
  return failed(Code::unsupported, "the buffers have gaps, are not in memory of the rank's device, or are the same although results would overwrite what is sent");
}

Status enqueue_on_devices(Slot& slot, const Shape& shape, UserBuffers& user, void* stream) {
  if (moves_nothing(shape)) return {};
  CROSSRAIL_TRY(look_for_modules_of_all(slot));
  Plan* plan = nullptr;
  CROSSRAIL_TRY(plan_in_stream(slot, shape, user, plan));
  Buffers buffers = user.device_buffers();
  buffers.stream = stream == nullptr ? CROSSRAIL_DEFAULT_STREAM : stream;
  const std::string wrong_before = slot.devices->queue().wrong_so_far();
  CROSSRAIL_TRY(run_plan(*plan, buffers, plan->run));
  return wrong_before.empty() ? Status{} : failure(Code::invalid, "%s; this call has been enqueued", wrong_before.c_str());
}

}  // namespace crossrail
