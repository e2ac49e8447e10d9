// Kernels that speak through inboxes: packets, and meetings.
//
//   half 0: region of sender 0, 1, ... | half 1 | InboxTail | MeetingLine of rank 0, 1, ...

#include <algorithm>
#include <cstring>

#include "queue.h"

namespace gpu {
namespace {

constexpr uint64_t kLineBytes = 128;
constexpr uint64_t kUnitsOfOneCta = 2048;   // of all blocks: more are shared by several CTAs
constexpr uint64_t kUnitsOfACta = 1024;
constexpr unsigned kCtaThreads = 512;
constexpr unsigned kMostCtas = 64;          // all of them must be on the device at once

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }
uint64_t tail_bytes(int ranks) {
  return round_up(sizeof(kernels::InboxTail) + ranks * sizeof(kernels::MeetingLine), kLineBytes);
}
uint64_t units_of(size_t block_bytes) { return (block_bytes + kernels::kPacketData - 1) / kernels::kPacketData; }

struct Inbox {
  uint64_t tail = 0, region_bytes = 0;
};
Inbox inbox_of(int ranks, size_t inbox_bytes) {
  if (inbox_bytes < tail_bytes(ranks)) return {};
  const uint64_t tail = (inbox_bytes - tail_bytes(ranks)) / kLineBytes * kLineBytes;
  return {tail, tail / (2 * static_cast<uint64_t>(ranks)) / kLineBytes * kLineBytes};
}

const char* check(int rank, int ranks, size_t inbox_bytes) {
  if (ranks < 1 || ranks > static_cast<int>(kernels::kManyRanks)) return "too many ranks for inboxes";
  if (rank < 0 || rank >= ranks) return "a rank outside of its inboxes";
  return inbox_bytes < tail_bytes(ranks) ? "inboxes that are too small" : nullptr;
}

uint32_t align_of(const crossrail_packets& packets) {
  const uint64_t all = reinterpret_cast<uint64_t>(packets.send) | reinterpret_cast<uint64_t>(packets.recv) |
                       (packets.ranks > 1 ? packets.block_bytes : 0) | kernels::kPacketData;
  return static_cast<uint32_t>(all & (~all + 1));
}

Cut cut_packets(const crossrail_queue& queue, const crossrail_packets& packets) {
  const uint64_t units = units_of(packets.block_bytes) * packets.ranks;
  if (units <= kUnitsOfOneCta) {
    const uint64_t groups = packets.ranks * ((units_of(packets.block_bytes) + kernels::kWarpLanes - 1) / kernels::kWarpLanes);
    constexpr uint64_t kMostGroups = kernels::kMostThreads / kernels::kWarpLanes;
    return {1, static_cast<unsigned>(std::min(groups, kMostGroups)) * kernels::kWarpLanes, kernels::kWarpLanes};
  }
  const unsigned most = std::min(kMostCtas, std::max(1u, static_cast<unsigned>(queue.place->multiprocessors) / 2));
  const auto grid = static_cast<unsigned>(std::clamp<uint64_t>(units / kUnitsOfACta, 1, most));
  return {grid, kCtaThreads, grid == 1 ? kernels::kWarpLanes : kCtaThreads};
}

template <unsigned kMost>
const char* launch_packets(crossrail_queue& queue, const crossrail_packets& packets, Kernel kernel) {
  kernels::PacketsTask<kMost> task{};
  if (const char* wrong = translate(queue, packets.flag, &task.signal.flag); wrong != nullptr) return wrong;
  uint64_t* leave = nullptr;
  if (const char* wrong = translate(queue, packets.leave, &leave); wrong != nullptr) return wrong;
  const Inbox inbox = inbox_of(packets.ranks, packets.inbox_bytes);
  const Cut wanted = cut_packets(queue, packets);
  task.signal.value = packets.value;
  task.send = static_cast<const char*>(packets.send);
  task.recv = static_cast<char*>(packets.recv);
  task.block_bytes = packets.block_bytes;
  task.region_bytes = inbox.region_bytes;
  task.tail = inbox.tail;
  task.leave = leave;
  task.rank = static_cast<uint32_t>(packets.rank);
  task.ranks = static_cast<uint32_t>(packets.ranks);
  task.lanes = wanted.lanes;
  task.align = align_of(packets);
  for (int i = 0; i < packets.ranks; ++i) task.inboxes[i] = static_cast<char*>(packets.inboxes[i]);
  return launch_work(queue, {kernel, wanted.grid, wanted.threads, &task, sizeof task, &task.signal, true}, packets.stream);
}

template <unsigned kMost>
const char* launch_meeting(crossrail_queue& queue, const crossrail_meeting& meeting, Kernel kernel) {
  kernels::MeetingTask<kMost> task{};
  uint64_t* leave = nullptr;
  if (const char* wrong = translate(queue, meeting.leave, &leave); wrong != nullptr) return wrong;
  task.tail = inbox_of(meeting.ranks, meeting.inbox_bytes).tail;
  task.leave = leave;
  task.rank = static_cast<uint32_t>(meeting.rank);
  task.ranks = static_cast<uint32_t>(meeting.ranks);
  for (int i = 0; i < meeting.ranks; ++i) task.inboxes[i] = static_cast<char*>(meeting.inboxes[i]);
  const unsigned threads = round_up(meeting.ranks, kernels::kWarpLanes);
  return launch_work(queue, {kernel, 1, threads, &task, sizeof task, nullptr, false}, meeting.stream);
}

// No packets would come, and without packets nobody may go on to the next round.
const char* announce_nothing(crossrail_queue& queue, const crossrail_packets& packets) {
  crossrail_exchange nothing{};
  nothing.flag = packets.flag;
  nothing.value = packets.value;
  nothing.stream = packets.stream;
  return exchange(&queue, &nothing);
}

}  // namespace

size_t packets_bytes(int ranks, size_t block_bytes) {
  const uint64_t region = round_up(units_of(block_bytes) * kernels::kPacketBytes, kLineBytes);
  return 2 * static_cast<size_t>(ranks) * region + tail_bytes(ranks);
}

const char* packets(crossrail_queue* queue, const crossrail_packets* packets) {
  if (const char* wrong = check(packets->rank, packets->ranks, packets->inbox_bytes); wrong != nullptr) return wrong;
  if (packets->block_bytes == 0) return announce_nothing(*queue, *packets);
  if (packets_bytes(packets->ranks, packets->block_bytes) > packets->inbox_bytes) return "blocks too large for the inboxes";
  const Current current(queue->place->context);
  GPU_TRY(current.result());
  if (packets->ranks <= static_cast<int>(kernels::kFewRanks)) {
    return launch_packets<kernels::kFewRanks>(*queue, *packets, Kernel::packets_few);
  }
  return launch_packets<kernels::kManyRanks>(*queue, *packets, Kernel::packets_many);
}

const char* meet(crossrail_queue* queue, const crossrail_meeting* meeting) {
  if (const char* wrong = check(meeting->rank, meeting->ranks, meeting->inbox_bytes); wrong != nullptr) return wrong;
  const Current current(queue->place->context);
  GPU_TRY(current.result());
  if (meeting->ranks <= static_cast<int>(kernels::kFewRanks)) {
    return launch_meeting<kernels::kFewRanks>(*queue, *meeting, Kernel::meet_few);
  }
  return launch_meeting<kernels::kManyRanks>(*queue, *meeting, Kernel::meet_many);
}

}  // namespace gpu
