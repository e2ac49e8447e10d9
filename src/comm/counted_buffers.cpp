#include "comm/counted_buffers.h"

#include "device/device.h"

namespace crossrail {
namespace {

// A null buffer has no room. If the driver does not say where an allocation ends, the arrays are trusted.
void find_limits(crossrail_counted_side& side) {
  side.lowest = side.highest = 0;
  if (side.base == nullptr) return;
  crossrail_memory facts{};
  device::module()->describe(side.base, 1, &facts);
  if (facts.kind == CROSSRAIL_MEMORY_DEVICE && facts.bytes > 0) {
    side.lowest = static_cast<std::byte*>(facts.base) - static_cast<std::byte*>(side.base);
    side.highest = side.lowest + static_cast<std::int64_t>(facts.bytes);
  } else {
    side.lowest = INT64_MIN;
    side.highest = INT64_MAX;
  }
}

DeviceSide whole(const crossrail_counted_side& side) { return {side.base, 1, false, side.base == nullptr}; }

}  // namespace

Status CountedBuffers::open(Buffers&, const Plan*) { return failed(Code::unsupported, "only a device may read the counts"); }

DeviceCall CountedBuffers::on_devices() {
  if (!possible_) return {};
  find_limits(send_);
  find_limits(recv_);
  DeviceCall call{whole(send_), whole(recv_)};
  call.needs.no_staging = true;
  call.needs.arrays = {send_.counts, send_.displacements, recv_.counts, recv_.displacements};
  return call;
}

Buffers CountedBuffers::device_buffers() {
  Buffers buffers{static_cast<const std::byte*>(send_.base), static_cast<std::byte*>(recv_.base)};
  buffers.counted_send = &send_;
  buffers.counted_recv = &recv_;
  return buffers;
}

}  // namespace crossrail
