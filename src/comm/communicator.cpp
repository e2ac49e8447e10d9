#include "comm/communicator.h"

#include <new>

namespace crossrail {

Status Room::reserve(std::size_t wanted) {
  if (bytes >= wanted) return {};
  memory.reset();
  bytes = 0;
  memory.reset(new (std::nothrow) std::byte[wanted]);
  if (memory == nullptr) return failure(Code::no_memory, "no memory for %zu bytes of packed or staged data", wanted);
  bytes = wanted;
  return {};
}

void Communicator::open_devices() {
  if (board == nullptr || !topology.one_node() || settings.devices == 0) return;
  devices = std::make_unique<DeviceBoard>(
      DeviceBoard::Placement{board->device_region(), settings.device_scratch_bytes, static_cast<int>(settings.multiprocessors),
                             static_cast<std::uint32_t>(settings.resident_us), settings.ipc_threshold, settings.memcpy_threshold},
      *board, *links);
}

}  // namespace crossrail
