// These kernels communicate through receive buffers. They send packets and make barriers.
//
//   half 0: region of sender 0, 1, ... | half 1 | BufferTail | BarrierLine of rank 0, 1, ...

#include <algorithm>
#include <cstring>

#include "queue.h"

namespace gpu {
namespace {

constexpr uint64_t kUnitsOfOneCta = 2048;   // They are of all blocks. Several CTAs share more.
constexpr uint64_t kUnitsOfACta = 1024;
constexpr unsigned kMostCtas = 64;          // All of them must be on the device at once.
constexpr unsigned kMostLineCtas = 48;      // More are no quicker (measured on two H200).
constexpr uint64_t kPairsOfAWarp = kernels::kPairsAtATime * kernels::kWarpLanes / kernels::kLineUnits;

uint64_t tail_bytes(int ranks) {
  return round_up(sizeof(kernels::BufferTail) + ranks * sizeof(kernels::BarrierLine), kLineBytes);
}
uint64_t units_of(size_t block_bytes) { return (block_bytes + kernels::kPacketData - 1) / kernels::kPacketData; }
uint64_t pairs_of(size_t block_bytes) {
  constexpr uint64_t kPairData = kernels::kUnitsOfAPair * kernels::kUnitBytes;
  return (block_bytes + kPairData - 1) / kPairData;
}
uint64_t region_for(crossrail_packet_form form, size_t block_bytes) {
  if (form == CROSSRAIL_PACKETS_LL128) return pairs_of(block_bytes) * kernels::kPairBytes;
  return round_up(units_of(block_bytes) * kernels::kPacketBytes, kLineBytes);
}

struct ReceiveBuffer {
  uint64_t tail = 0, region_bytes = 0;
};
ReceiveBuffer buffer_of(int ranks, size_t buffer_bytes) {
  if (buffer_bytes < tail_bytes(ranks)) return {};
  const uint64_t tail = (buffer_bytes - tail_bytes(ranks)) / kLineBytes * kLineBytes;
  return {tail, tail / (2 * static_cast<uint64_t>(ranks)) / kLineBytes * kLineBytes};
}

const char* check(int rank, int ranks, size_t buffer_bytes) {
  if (ranks < 1 || ranks > static_cast<int>(kernels::kManyRanks)) return "too many ranks for receive buffers";
  if (rank < 0 || rank >= ranks) return "a rank outside of its receive buffers";
  return buffer_bytes < tail_bytes(ranks) ? "receive buffers that are too small" : nullptr;
}

const char* check(const crossrail_packets& packets, size_t block_bytes) {
  if (const char* wrong = check(packets.rank, packets.ranks, packets.buffer_bytes); wrong != nullptr) return wrong;
  if (packets.form == CROSSRAIL_PACKETS_LL128 && packets.ranks > CROSSRAIL_MOST_COMBINING) return "too many ranks for packets of 128 bytes";
  return packets_bytes(packets.form, packets.ranks, block_bytes) > packets.buffer_bytes ? "blocks too large for the receive buffers" : nullptr;
}

// Returns the alignment of all blocks, at most `most`.
uint32_t align_of(const crossrail_packets& packets, uint64_t most) {
  const uint64_t pitches = packets.ranks > 1 ? packets.send_pitch | packets.recv_pitch : 0;
  const uint64_t all = reinterpret_cast<uint64_t>(packets.send) | reinterpret_cast<uint64_t>(packets.recv) | pitches | most;
  return static_cast<uint32_t>(all & (~all + 1));
}

uint64_t most_ctas(const crossrail_packets& packets, unsigned most) {
  return packets.work.multiprocessors > 0 ? std::min<uint64_t>(most, static_cast<unsigned>(packets.work.multiprocessors)) : most;
}

Cut cut_packets(const crossrail_queue& queue, const crossrail_packets& packets) {
  const uint64_t units = units_of(packets.block_bytes) * packets.ranks;
  if (units <= kUnitsOfOneCta) {
    const uint64_t groups = packets.ranks * ((units_of(packets.block_bytes) + kernels::kWarpLanes - 1) / kernels::kWarpLanes);
    constexpr uint64_t kMostGroups = kernels::kMostThreads / kernels::kWarpLanes;
    return {1, static_cast<unsigned>(std::min(groups, kMostGroups)) * kernels::kWarpLanes, kernels::kWarpLanes};
  }
  const unsigned most = std::min(kMostCtas, std::max(1u, static_cast<unsigned>(queue.place->multiprocessors) / 2));
  const auto grid = static_cast<unsigned>(std::clamp<uint64_t>(units / kUnitsOfACta, 1, most_ctas(packets, most)));
  return {grid, kCtaThreads, grid == 1 ? kernels::kWarpLanes : kCtaThreads};
}

// Cuts into warps that each have pairs of lines of one block.
Cut cut_lines(const crossrail_packets& packets) {
  constexpr uint64_t kWarpsOfACta = kernels::kLineThreads / kernels::kWarpLanes;
  const uint64_t warps = packets.ranks * ((pairs_of(packets.block_bytes) + kPairsOfAWarp - 1) / kPairsOfAWarp);
  const auto grid = static_cast<unsigned>(std::clamp<uint64_t>((warps + kWarpsOfACta - 1) / kWarpsOfACta, 1, most_ctas(packets, kMostLineCtas)));
  return {grid, static_cast<unsigned>(std::min(warps, kWarpsOfACta)) * kernels::kWarpLanes, kernels::kWarpLanes};
}

template <unsigned kMost>
const char* tell(const crossrail_queue& queue, const crossrail_packets& packets, kernels::PacketsTask<kMost>& task) {
  if (const char* wrong = translate(queue, packets.work.flag, &task.signal.flag); wrong != nullptr) return wrong;
  uint64_t* abort_flag = nullptr;
  if (const char* wrong = translate(queue, packets.abort, &abort_flag); wrong != nullptr) return wrong;
  const ReceiveBuffer buffer = buffer_of(packets.ranks, packets.buffer_bytes);
  task.signal.value = packets.work.value;
  task.send = static_cast<const char*>(packets.send);
  task.recv = static_cast<char*>(packets.recv);
  task.block_bytes = packets.block_bytes;
  task.send_pitch = packets.send_pitch;
  task.recv_pitch = packets.recv_pitch;
  task.region_bytes = buffer.region_bytes;
  task.tail = buffer.tail;
  task.abort = abort_flag;
  task.rank = static_cast<uint32_t>(packets.rank);
  task.ranks = static_cast<uint32_t>(packets.ranks);
  for (int i = 0; i < packets.ranks; ++i) task.buffers[i] = static_cast<char*>(packets.buffers[i]);
  return nullptr;
}

template <unsigned kMost>
const char* launch_packets(crossrail_queue& queue, const crossrail_packets& packets, Kernel kernel) {
  kernels::PacketsTask<kMost> task{};
  if (const char* wrong = tell(queue, packets, task); wrong != nullptr) return wrong;
  const bool lines = packets.form == CROSSRAIL_PACKETS_LL128;
  const Cut wanted = lines ? cut_lines(packets) : cut_packets(queue, packets);
  task.lanes = wanted.lanes;
  task.align = align_of(packets, lines ? kernels::kUnitBytes : kernels::kPacketData);
  return launch_work(queue, {kernel, wanted.grid, wanted.threads, &task, sizeof task, &task.signal, true}, packets.work.stream);
}

template <unsigned kMost>
const char* launch_barrier(crossrail_queue& queue, const crossrail_barrier& barrier, void* stream) {
  constexpr Kernel kernel = kMost == kernels::kFewRanks ? Kernel::barrier_few : Kernel::barrier_many;
  kernels::BarrierTask<kMost> task{};
  if (const char* wrong = tell_barrier(queue, barrier, task); wrong != nullptr) return wrong;
  return launch_work(queue, {kernel, 1, barrier_threads(barrier), &task, sizeof task, nullptr, false}, stream);
}

// There is one CTA for a tile of all ranks' rows, as long as there are not too many.
struct CombiningCut {
  Kernel kernel;
  unsigned grid, threads;
};
CombiningCut cut_combining(const crossrail_packets& packets, uint64_t travelling) {
  const auto grid_of = [&](uint64_t all, uint64_t tile) { return static_cast<unsigned>(std::clamp<uint64_t>((all + tile - 1) / tile, 1, most_ctas(packets, kMostLineCtas))); };
  if (packets.form == CROSSRAIL_PACKETS_LL) {
    const uint64_t units = travelling / kernels::kUnitBytes;
    const Groups groups = groups_of(packets.ranks, units);
    return {Kernel::combine_packets, grid_of(units, groups.tile_units()), groups.threads};
  }
  const uint64_t pairs = pairs_of(travelling), most = kernels::kCombineThreads / kernels::kWarpLanes / static_cast<unsigned>(packets.ranks);
  const uint64_t warps = std::clamp<uint64_t>((pairs + kPairsOfAWarp - 1) / kPairsOfAWarp, 1, most);  // They are those of a row.
  return {Kernel::combine_lines, grid_of(pairs, warps * kPairsOfAWarp), static_cast<unsigned>(warps) * static_cast<unsigned>(packets.ranks) * kernels::kWarpLanes};
}

// No packets would come, and without packets nobody may go on to the next round.
const char* announce_nothing(crossrail_queue& queue, const crossrail_packets& packets) {
  crossrail_exchange nothing{};
  nothing.work.flag = packets.work.flag;
  nothing.work.value = packets.work.value;
  nothing.work.stream = packets.work.stream;
  return exchange(queue, nothing);
}

}  // namespace

const char* check(const crossrail_barrier& barrier) { return check(barrier.rank, barrier.ranks, barrier.buffer_bytes); }

template <unsigned kMost>
const char* tell_barrier(const crossrail_queue& queue, const crossrail_barrier& barrier, kernels::BarrierTask<kMost>& task) {
  uint64_t* abort_flag = nullptr;
  if (const char* wrong = translate(queue, barrier.abort, &abort_flag); wrong != nullptr) return wrong;
  task.tail = buffer_of(barrier.ranks, barrier.buffer_bytes).tail;
  task.abort = abort_flag;
  task.rank = static_cast<uint32_t>(barrier.rank);
  task.ranks = static_cast<uint32_t>(barrier.ranks);
  for (int i = 0; i < barrier.ranks; ++i) task.buffers[i] = static_cast<char*>(barrier.buffers[i]);
  return nullptr;
}
template const char* tell_barrier(const crossrail_queue&, const crossrail_barrier&, kernels::BarrierTask<kernels::kFewRanks>&);
template const char* tell_barrier(const crossrail_queue&, const crossrail_barrier&, kernels::BarrierTask<kernels::kManyRanks>&);

const char* tell_meetings(const crossrail_queue& queue, const Meetings& meetings, kernels::MeetingTask& task) {
  const crossrail_barrier& barrier = *(meetings.before != nullptr ? meetings.before : meetings.after);
  if (const char* wrong = check(barrier); wrong != nullptr) return wrong;
  task.before = meetings.before != nullptr ? 1 : 0;
  task.after = meetings.after != nullptr ? 1 : 0;
  return tell_barrier(queue, barrier, task.barrier);
}

const char* meet_alone(crossrail_queue& queue, const crossrail_barrier* barrier, void* stream) {
  if (barrier == nullptr) return nullptr;
  if (const char* wrong = check(*barrier); wrong != nullptr) return wrong;
  const At at(*queue.place);
  GPU_TRY(at.result());
  if (barrier->ranks <= static_cast<int>(kernels::kFewRanks)) return launch_barrier<kernels::kFewRanks>(queue, *barrier, stream);
  return launch_barrier<kernels::kManyRanks>(queue, *barrier, stream);
}

size_t packets_bytes(crossrail_packet_form form, int ranks, size_t block_bytes) {
  return 2 * static_cast<size_t>(ranks) * region_for(form, block_bytes) + tail_bytes(ranks);
}

const char* supports_packets(const crossrail_queue& queue, const crossrail_packets& packets, size_t* buffer_bytes) {
  const bool combined = packets.reduction.operation != 0;
  if (packets.form == CROSSRAIL_PACKETS_LL128 && !queue.place->whole_lines) return "links that may break packets of 128 bytes";
  if (const char* wrong = combined ? combines(packets.reduction) : nullptr; wrong != nullptr) return wrong;
  const size_t travelling = combined ? bytes_of_combined_packets(packets.block_bytes, packets.reduction) : packets.block_bytes;
  const bool chunks = packets.form == CROSSRAIL_PACKETS_CHUNKS;
  if (chunks && packets.ranks > CROSSRAIL_MOST_COMBINING) return "too many ranks for chunks";
  if (buffer_bytes != nullptr) *buffer_bytes = chunks ? chunks_bytes(packets.ranks) : packets_bytes(packets.form, packets.ranks, travelling);
  return nullptr;
}

namespace {

const char* exchange_packets(crossrail_queue& queue, const crossrail_packets& packets) {
  if (const char* wrong = check(packets, packets.block_bytes); wrong != nullptr) return wrong;
  if (packets.block_bytes == 0) return announce_nothing(queue, packets);
  const At at(*queue.place);
  GPU_TRY(at.result());
  if (packets.form == CROSSRAIL_PACKETS_LL128) return launch_packets<kernels::kFewRanks>(queue, packets, Kernel::lines);
  if (packets.ranks <= static_cast<int>(kernels::kFewRanks)) return launch_packets<kernels::kFewRanks>(queue, packets, Kernel::packets_few);
  return launch_packets<kernels::kManyRanks>(queue, packets, Kernel::packets_many);
}

const char* combine_packets(crossrail_queue& queue, const crossrail_packets& packets) {
  const size_t travelling = bytes_of_combined_packets(packets.block_bytes, packets.reduction);
  if (const char* wrong = check(packets, travelling); wrong != nullptr) return wrong;
  if (packets.ranks > CROSSRAIL_MOST_COMBINING) return "too many ranks that combine packets";
  kernels::CombinePacketsTask task{};
  const uint64_t addresses = reinterpret_cast<uint64_t>(packets.send) | reinterpret_cast<uint64_t>(packets.recv) | packets.send_pitch;
  if (const char* wrong = tell_elements(packets.reduction, packets.block_bytes, addresses, task.elements); wrong != nullptr) return wrong;
  if (packets.block_bytes == 0) return announce_nothing(queue, packets);
  task.scaling = scaling_of(packets.reduction, packets.ranks);
  const At at(*queue.place);
  GPU_TRY(at.result());
  if (const char* wrong = tell(queue, packets, task.packets); wrong != nullptr) return wrong;
  const CombiningCut wanted = cut_combining(packets, travelling);
  return launch_work(queue, {wanted.kernel, wanted.grid, wanted.threads, &task, sizeof task, &task.packets.signal, true}, packets.work.stream);
}

}  // namespace

const char* packets(crossrail_queue& queue, const crossrail_packets& asked) {
  if (asked.form == CROSSRAIL_PACKETS_CHUNKS) return exchange_in_chunks(queue, asked);
  return asked.reduction.operation != 0 ? combine_packets(queue, asked) : exchange_packets(queue, asked);
}

}  // namespace gpu
