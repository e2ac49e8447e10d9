#include "engine/devices_of_nodes.h"

#include <bit>

#include "base/trace.h"
#include "collectives/device_rounds.h"
#include "device/device.h"
#include "engine/device_messages.h"
#include "engine/engine.h"

namespace crossrail {

Status run_plan(Plan& plan, const Buffers& buffers, Status (*run)(Plan&, const Buffers&)) {
  plan.last = {};
  const trace::Slice traced(trace::on() ? trace::begin({plan.algorithm, trace::Kind::phase, plan.shape.block_bytes, -1, plan.links->traced_call()}) : 0);
  const Status status = run(plan, buffers);
  if (!status.ok() && plan.courier_links != nullptr) plan.courier_links->cancel_posted();
  ++plan.calls;
  plan.total += plan.last;
  return status;
}

Status run_on_devices_of_node(Slot& slot, UserBuffers& user, Plan& plan, bool& done) {
  done = false;
  const bool vector = row_of(plan.shape.collective).counts == Counts::vector;
  if (plan.run_on_devices == nullptr || slot.devices == nullptr || (plan.device_block_bytes == 0 && !vector)) return {};
  DeviceSharing& devices = *slot.devices;
  CROSSRAIL_TRY(devices.look_for_modules());
  if (!devices.active()) return {};
  DeviceCall call = user.on_devices();
  if (!vector) call.block_bytes = plan.device_block_bytes;
  call.node = &slot.owner.topology.node_ranks();
  call.needs = plan.device_needs;
  call.needs.room.where = where_messages_are(slot.owner, call.needs.room);
  bool on_devices = false;
  CROSSRAIL_TRY(devices.exchange_descriptors(call, plan.mapped, on_devices));
  if (!on_devices) return {};
  const Status status = run_plan(plan, user.device_buffers(), plan.run_on_devices);
  devices.end_call();
  done = status.code != Code::unsupported;
  if (done) ++plan.calls_on_devices;
  return done ? status : Status{};
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
  const bool vector = row_of(shape.collective).counts == Counts::vector, nothing = !vector && shape.block_bytes == 0;
  if (slot.owner.topology.one_node() || nothing || slot.plans.find(shape) != nullptr) return {};
  bool here = false;
  if (slot.devices != nullptr) CROSSRAIL_TRY(slot.devices->look_for_modules(DeviceSharing::When::now));
  if (slot.devices != nullptr && slot.devices->active()) {
    DeviceCall call = user.on_devices();
    if (call.block_bytes == 0) call.block_bytes = device_block_bytes(shape, slot.owner.topology.size);
    call.node = &slot.owner.topology.node_ranks();
    CROSSRAIL_TRY(slot.devices->exchange_descriptors(call, MappedSide::none, here));
    slot.devices->end_call();
  }
  std::uint32_t elsewhere = here ? 0 : 1;
  CROSSRAIL_TRY(agree_on_largest(slot, elsewhere, elsewhere));
  on_devices = elsewhere == 0;
  return on_devices ? try_device_messages(slot) : Status{};
}

}  // namespace crossrail
