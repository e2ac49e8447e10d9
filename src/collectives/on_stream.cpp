#include "collectives/on_stream.h"

#include "collectives/device_rounds.h"

namespace crossrail {
namespace {

constexpr std::size_t kPacketsBelow = 4096;
constexpr std::size_t kCopiesFrom = std::size_t{8} << 20;

bool by_packets(const StreamCall& call) {
  return call.block_bytes < kPacketsBelow && call.block_bytes <= alltoall_device::most_packet_bytes(call.topology.size);
}

// Every rank writes to the others between two meetings: their buffers are free, and then full.
Status plan_and_push(const StreamCall& call, const Buffers& buffers) {
  const int rank = call.topology.rank, size = call.topology.size;
  const std::size_t block = call.block_bytes;
  std::vector<crossrail_block> blocks;
  blocks.reserve(static_cast<std::size_t>(size));
  for (int step = 0; step < size; ++step) {
    const int peer = (rank + step) % size;
    const auto own = static_cast<std::size_t>(rank), to = static_cast<std::size_t>(peer);
    std::byte* const theirs = step == 0 ? buffers.recv + own * block : call.devices.block({peer, Window::recv, own, 0});
    blocks.push_back({theirs, buffers.send + to * block, block});
  }
  CROSSRAIL_TRY(call.devices.meet_on(call.stream));
  const auto engine = block < kCopiesFrom || size == 2 ? CROSSRAIL_ENGINE_KERNEL : CROSSRAIL_ENGINE_COPY;
  CROSSRAIL_TRY(call.devices.exchange_on(call.stream, blocks, engine));
  return call.devices.meet_on(call.stream);
}

}  // namespace

Window window_on_stream(const StreamCall& call) { return by_packets(call) ? Window::none : Window::recv; }

Status alltoall_on_stream(const StreamCall& call, const Buffers& buffers) {
  DeviceBoard& devices = call.devices;
  if (devices.module().meet == nullptr) return failed(Code::unsupported, "the device module has no meetings");
  CROSSRAIL_TRY(devices.open_inboxes(DeviceBoard::Use::streams, alltoall_device::inbox_bytes(devices.module(), call.topology.size)));
  CROSSRAIL_TRY(devices.watch_peers());
  if (by_packets(call)) {
    crossrail_packets packets{};
    packets.send = buffers.send;
    packets.recv = buffers.recv;
    packets.block_bytes = call.block_bytes;
    return devices.packets_on(call.stream, packets);
  }
  if (devices.any_staged(Window::recv)) return failed(Code::unsupported, "some rank's memory cannot be mapped by others");
  CROSSRAIL_TRY(devices.open_windows(Window::recv));
  devices.keep_window();
  return plan_and_push(call, buffers);
}

}  // namespace crossrail
