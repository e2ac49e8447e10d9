// This sorts messages by the rank they go to or come from, and gives each such way its share of the warps.

#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/message_tasks.h"
#include "queue.h"

namespace gpu {
namespace {

static_assert(CROSSRAIL_MOST_COMBINING == kernels::kFewRanks);

// All buffers are laid out like this.
struct MessageBuffer {
  uint64_t lanes, credits, counters, list, bytes;
};
MessageBuffer buffer_for(int ranks) {
  const auto others = static_cast<uint64_t>(std::max(ranks - 1, 1));
  MessageBuffer buffer{};
  buffer.lanes = std::bit_floor(kernels::kMostWaitingWarps / 2 / others);  // A lane of each way then has a warp of its own.
  buffer.credits = others * buffer.lanes * kernels::kRingPieces * kernels::kPieceBytes;
  buffer.counters = buffer.credits + others * buffer.lanes * kernels::kCreditBytes;
  buffer.list = buffer.counters + sizeof(kernels::MessageCounters);
  buffer.bytes = buffer.list + kernels::kMostMessages * sizeof(kernels::Message);
  return buffer;
}

const char* check(const crossrail_messages& asked) {
  if (asked.ranks < 1 || asked.ranks > CROSSRAIL_MOST_COMBINING) return "too many ranks for messages";
  if (asked.rank < 0 || asked.rank >= asked.ranks) return "a rank outside of its receive buffers";
  if (buffer_for(asked.ranks).bytes > asked.buffer_bytes) return "receive buffers that are too small for messages";
  const auto right = [&](const crossrail_message& one) { return one.peer >= 0 && one.peer < asked.ranks; };
  const bool all = std::all_of(asked.sends, asked.sends + asked.send_count, right) && std::all_of(asked.recvs, asked.recvs + asked.recv_count, right);
  return all ? nullptr : "a message of a rank that is none";
}

// Messages are appended to the list. Empty ones are left out, as both ends know them to be empty.
struct Appended {
  uint64_t count = 0, pieces = 0;
};
Appended append(const crossrail_message* messages, int count, int peer, std::vector<kernels::Message>& list) {
  Appended found;
  for (int i = 0; i < count; ++i) {
    if (messages[i].peer != peer || messages[i].bytes == 0) continue;
    list.push_back({static_cast<char*>(messages[i].address), messages[i].bytes});
    ++found.count;
    found.pieces += (messages[i].bytes + kernels::kPieceData - 1) / kernels::kPieceData;
  }
  return found;
}

class Ways {
 public:
  Ways(const crossrail_messages& asked, kernels::MessagesTask& task) : asked_(asked), task_(task) {
    list.reserve(static_cast<size_t>(asked.send_count + asked.recv_count));
    for (int step = 1; step < asked.ranks; ++step) {
      add(kernels::MessageWay::send, (asked.rank + step) % asked.ranks);
      add(kernels::MessageWay::receive, (asked.rank + asked.ranks - step) % asked.ranks);
    }
    add(kernels::MessageWay::copy, asked.rank);
  }
  std::vector<kernels::Message> list;
  bool own_differ = false;  // What this rank sends to itself is not what it receives.

 private:
  void add(kernels::MessageWay::Kind kind, int peer) {
    const auto first = static_cast<uint32_t>(list.size());
    const bool received = kind == kernels::MessageWay::receive;
    const Appended found = append(received ? asked_.recvs : asked_.sends, received ? asked_.recv_count : asked_.send_count, peer, list);
    if (kind == kernels::MessageWay::copy) {
      const Appended too = append(asked_.recvs, asked_.recv_count, peer, list);
      own_differ = too.count != found.count;
      for (uint64_t i = 0; i < found.count && !own_differ; ++i) own_differ = list[first + i].bytes != list[first + found.count + i].bytes;
    }
    if (found.count == 0) return;
    task_.ways[task_.way_count++] = {kind, static_cast<uint32_t>(peer), first, static_cast<uint32_t>(found.count), 0, 0, found.pieces};
  }

  const crossrail_messages& asked_;
  kernels::MessagesTask& task_;
};

// Every way has as many warps as it has pieces, but no more than there are lanes and so many that all fit. It returns how many there are.
unsigned deal_warps(kernels::MessagesTask& task, uint64_t lanes, uint64_t most_warps) {
  uint64_t all = 0;
  for (uint64_t most = lanes; most > 0; most /= 2) {
    all = 0;
    for (uint32_t i = 0; i < task.way_count; ++i) {
      kernels::MessageWay& way = task.ways[i];
      way.first_warp = static_cast<uint32_t>(all);
      way.warps = static_cast<uint32_t>(std::min(most, std::bit_ceil(std::min(way.pieces, lanes))));
      all += way.warps;
    }
    if (all <= most_warps) break;
  }
  return static_cast<unsigned>(all);
}

// Brings the list to this rank's buffer by kernels before, whose arguments stay as they are also in a graph.
const char* keep_list(crossrail_queue& queue, const std::vector<kernels::Message>& list, kernels::Message* to, void* stream) {
  for (size_t at = 0; at < list.size(); at += kernels::kMessagesAtATime) {
    kernels::ListTask task{};
    task.to = to + at;
    task.count = std::min<size_t>(kernels::kMessagesAtATime, list.size() - at);
    std::copy_n(list.begin() + static_cast<std::ptrdiff_t>(at), task.count, task.messages);
    if (const char* wrong = launch_work(queue, {Kernel::keep_list, 1, 256, &task, sizeof task, nullptr, false}, stream); wrong != nullptr) return wrong;
  }
  return nullptr;
}

const char* tell_list(crossrail_queue& queue, const crossrail_messages& asked, const std::vector<kernels::Message>& list, kernels::MessagesTask& task) {
  if (list.size() > kernels::kMostMessages) return "too many messages at once";
  if (list.size() <= kernels::kFewMessages) {
    std::copy(list.begin(), list.end(), task.messages);
    return nullptr;
  }
  auto* const kept = reinterpret_cast<kernels::Message*>(static_cast<char*>(asked.buffers[asked.rank]) + buffer_for(asked.ranks).list);
  task.list = kept;
  return keep_list(queue, list, kept, asked.work.stream);
}

const char* tell(const crossrail_queue& queue, const crossrail_messages& asked, kernels::MessagesTask& task) {
  uint64_t* abort_flag = nullptr;
  if (const char* wrong = translate(queue, asked.abort, &abort_flag); wrong != nullptr) return wrong;
  const MessageBuffer buffer = buffer_for(asked.ranks);
  task.abort = abort_flag;
  task.credits = buffer.credits;
  task.counters = buffer.counters;
  task.rank = static_cast<uint32_t>(asked.rank);
  task.ranks = static_cast<uint32_t>(asked.ranks);
  task.lane_bits = static_cast<uint32_t>(std::countr_zero(buffer.lanes));
  for (int i = 0; i < asked.ranks; ++i) task.buffers[i] = static_cast<char*>(asked.buffers[i]);
  return nullptr;
}

// Beside the warps that wait, some copy what a rank sends to itself.
uint64_t most_ctas(const crossrail_queue& queue, const crossrail_messages& asked) {
  constexpr uint64_t kMost = kernels::kMostWaitingWarps / kernels::kWarpsOfACta * 3 / 2;
  const uint64_t most = std::min(kMost, static_cast<uint64_t>(queue.place->multiprocessors));  // All of them are on the device at once.
  return asked.work.multiprocessors > 0 ? std::min(static_cast<uint64_t>(asked.work.multiprocessors), most) : most;
}
static_assert(kernels::kMostWays <= kernels::kWarpsOfACta);

}  // namespace

// AMD's devices have none, also because two warps of a wavefront would wait for each other.
const char* supports_messages(const crossrail_queue& queue, int ranks, size_t* buffer_bytes) {
  if (!queue.place->whole_lines) return "links that may break packets of 128 bytes";
  if (ranks < 1 || ranks > CROSSRAIL_MOST_COMBINING) return "too many ranks for messages";
  if (buffer_bytes != nullptr) *buffer_bytes = buffer_for(ranks).bytes;
  return nullptr;
}

const char* messages(crossrail_queue& queue, const crossrail_messages& asked) {
  if (const char* wrong = check(asked); wrong != nullptr) return wrong;
  kernels::MessagesTask task{};
  const Ways ways(asked, task);
  if (ways.own_differ) return "messages of a rank to itself that are not those it receives";
  if (ways.list.empty()) return nullptr;
  const At at(*queue.place);
  GPU_TRY(at.result());
  if (const char* wrong = tell(queue, asked, task); wrong != nullptr) return wrong;
  if (const char* wrong = tell_list(queue, asked, ways.list, task); wrong != nullptr) return wrong;
  const unsigned warps = deal_warps(task, buffer_for(asked.ranks).lanes, most_ctas(queue, asked) * kernels::kWarpsOfACta);
  const unsigned grid = (warps + kernels::kWarpsOfACta - 1) / kernels::kWarpsOfACta;
  const unsigned threads = std::min(warps, kernels::kWarpsOfACta) * kernels::kWarpLanes;
  return launch_work(queue, {Kernel::messages, grid, threads, &task, sizeof task, nullptr, false}, asked.work.stream);
}

}  // namespace gpu
