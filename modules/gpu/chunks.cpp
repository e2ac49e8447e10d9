// Long blocks go through chunks (kernels/chunks.h). A receive buffer has the slots of all channels, then their lines, then the owner's counters.

#include <algorithm>
#include <numeric>

#include "queue.h"

namespace gpu {
namespace {

constexpr unsigned kCtas = 2;  // They are those of a channel.
constexpr uint64_t kSlotsBytes = uint64_t{16} << 20;  // They are those of all slots.
constexpr uint64_t kChannelBytes = 16 << 10;          // So much of a block is worth another channel, and a chunk has no less where there is more.

struct Layout {
  uint64_t slot_bytes, lines, counters, bytes;
};
Layout layout_of(int ranks) {
  const auto all = static_cast<uint64_t>(ranks);
  const uint64_t slots = kernels::kMostChannels * kernels::kChunkSlots * std::max<uint64_t>(all - 1, 1);
  Layout layout{};
  layout.slot_bytes = kSlotsBytes / slots / kLineBytes * kLineBytes;
  layout.lines = slots * layout.slot_bytes;
  layout.counters = layout.lines + kernels::kMostChannels * all * kernels::kUnitBytes;
  layout.bytes = layout.counters + kCtas * kernels::kMostChannels * sizeof(uint64_t);
  return layout;
}

const char* check(const crossrail_packets& packets) {
  if (packets.ranks < 1 || packets.ranks > CROSSRAIL_MOST_COMBINING) return "too many ranks for chunks";
  if (packets.rank < 0 || packets.rank >= packets.ranks) return "a rank outside of its receive buffers";
  if (packets.work.stream == nullptr) return "chunks are for a program's stream";
  return packets.buffer_bytes < layout_of(packets.ranks).bytes ? "receive buffers that are too small" : nullptr;
}

const char* tell(const crossrail_queue& queue, const crossrail_packets& packets, kernels::ChunksTask& task) {
  const Layout layout = layout_of(packets.ranks);
  uint64_t* abort_flag = nullptr;
  if (const char* wrong = translate(queue, packets.abort, &abort_flag); wrong != nullptr) return wrong;
  kernels::PacketsTask<kernels::kFewRanks>& told = task.packets;
  told.send = static_cast<const char*>(packets.send);
  told.recv = static_cast<char*>(packets.recv);
  told.block_bytes = packets.block_bytes;
  told.send_pitch = packets.send_pitch;
  told.recv_pitch = packets.recv_pitch;
  told.region_bytes = layout.slot_bytes;
  told.tail = layout.lines;
  told.abort = abort_flag;
  told.rank = static_cast<uint32_t>(packets.rank);
  told.ranks = static_cast<uint32_t>(packets.ranks);
  for (int i = 0; i < packets.ranks; ++i) told.buffers[i] = static_cast<char*>(packets.buffers[i]);
  task.counters = layout.counters;
  return nullptr;
}

constexpr uint64_t kParts = 4;  // A slice has so many chunks, if it is not too short or too long for that.

// Returns the number of channels. Slices and chunks are whole elements.
unsigned cut(const crossrail_packets& packets, uint64_t unit_bytes, kernels::ChunksTask& task) {
  const uint64_t grain = std::lcm(kLineBytes, unit_bytes), block = packets.block_bytes;
  uint64_t most = kernels::kMostChannels;
  if (packets.work.multiprocessors > 0) most = std::clamp<uint64_t>(static_cast<uint64_t>(packets.work.multiprocessors) / kCtas, 1, most);
  const uint64_t channels = std::clamp<uint64_t>(block / kChannelBytes, 1, most);
  task.slice_bytes = round_up((block + channels - 1) / channels, grain);
  const uint64_t part = round_up(std::max(task.slice_bytes / kParts, kChannelBytes), grain);
  task.chunk_bytes = std::min(part, task.packets.region_bytes / grain * grain);
  return static_cast<unsigned>((block + task.slice_bytes - 1) / task.slice_bytes);
}

}  // namespace

size_t chunks_bytes(int ranks) { return layout_of(ranks).bytes; }

const char* exchange_in_chunks(crossrail_queue& queue, const crossrail_packets& packets) {
  if (const char* wrong = check(packets); wrong != nullptr) return wrong;
  if (packets.block_bytes == 0) return nullptr;
  const At at(*queue.place);
  GPU_TRY(at.result());
  kernels::ChunksTask task{};
  const bool combined = packets.reduction.operation != 0;
  task.elements.unit_bytes = kernels::kUnitBytes;
  if (combined) {
    const uint64_t addresses = reinterpret_cast<uint64_t>(packets.send) | reinterpret_cast<uint64_t>(packets.recv) | packets.send_pitch;
    if (const char* wrong = tell_elements(packets.reduction, packets.block_bytes, addresses, task.elements); wrong != nullptr) return wrong;
    task.scaling = scaling_of(packets.reduction, packets.ranks);
  }
  if (const char* wrong = tell(queue, packets, task); wrong != nullptr) return wrong;
  const unsigned channels = cut(packets, task.elements.unit_bytes, task);
  const Kernel kernel = combined ? Kernel::combine_chunks : Kernel::exchange_chunks;
  return launch_work(queue, {kernel, kCtas * channels, kernels::kChunkThreads, &task, sizeof task, nullptr, false}, packets.work.stream);
}

}  // namespace gpu
