#include "device_sharing/device_queue.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "device/device.h"

namespace crossrail {
namespace {

constexpr unsigned kLooksAQuestion = 1u << 14;
// The device works meanwhile, and others do not need this core to bring it on.
constexpr std::int64_t kSpinNs = 2'000'000;

std::uint64_t read(const std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}
void write(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

// Kernels that have given up tell the complement of the number that they were to tell.
bool gave_up(std::uint64_t told) { return told >> 63 != 0; }

}  // namespace

bool DeviceQueue::open(const crossrail_memory& near) {
  if (queue_ != nullptr) return true;
  ++wanted_;
  if ((wanted_ & (wanted_ - 1)) != 0 || module_->open_queue(&near, trace::on() ? 1 : 0, &queue_, &facts_) != nullptr) return false;
  void* mapped = nullptr;
  if (module_->open_pages(queue_, region_.flags, device_flags_bytes(control_.node_size()), &mapped) != nullptr) {
    module_->close_queue(queue_);
    queue_ = nullptr;
    return false;
  }
  home_ = near;
  times_.open(*module_, queue_);
  DeviceLines& mine = region_.lines[control_.node_rank()];
  mine.identity = facts_.identity;
  has_kernels_ = supports(CROSSRAIL_WORK_MOVE, crossrail_movements{});
  const bool waits = supports(CROSSRAIL_WORK_PACKETS, crossrail_packets{}) && supports(CROSSRAIL_WORK_COUNTED, crossrail_counted_exchange{});
  mine.waits = waits ? 1 : 0;
  mine.concurrent = facts_.concurrent != 0 ? 1 : 0;
  return true;
}

bool DeviceQueue::combines(const crossrail_reduction& reduction) const {
  crossrail_combination asked{};
  asked.reduction = reduction;
  return supports(CROSSRAIL_WORK_COMBINE, asked);
}

Status DeviceQueue::enqueue(const crossrail_work& work) { return device::answered(module_->enqueue(queue_, &work)); }

void DeviceQueue::close() {
  if (queue_ == nullptr) return;
  times_.close();
  module_->close_pages(queue_, region_.flags);
  module_->close_queue(queue_);
  queue_ = nullptr;
}

// Kernels here may not be allowed to touch what this process has on another device, or in another context. Memory that was allocated in no
// context has the generation of the context that the queue would be in.
bool DeviceQueue::reaches(const crossrail_memory& memory) const {
  if (!lives()) return false;
  if (memory.kind == CROSSRAIL_MEMORY_MANAGED) return true;
  if (memory.device != home_.device || memory.context == nullptr) return memory.device == home_.device;
  return memory.generation == home_.generation && (home_.context == nullptr || memory.context == home_.context);
}

trace::Number DeviceQueue::trace_work(const char* name, std::uint64_t bytes) const {
  return trace::begin({name, trace::Kind::device, bytes, -1, links_.traced_call()});
}

// When this work is done, the copies before it are done, too.
void DeviceQueue::trace_end(trace::Number last) const {
  trace::end(last);
  for (const trace::Number copies : traced_copies_) {
    if (copies < last) trace::end(copies);
  }
  std::erase_if(traced_copies_, [last](trace::Number copies) { return copies <= last; });
  times_.collect();
}

// The pieces are blocks or combinations.
template <class Pieces>
trace::Number DeviceQueue::trace_pieces(const char* name, const Pieces& pieces) const {
  if (!trace::on()) return 0;
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.bytes;
  return trace_work(name, bytes);
}

bool DeviceQueue::number(DeviceWork& work, Launch launch) {
  work = {launch == Launch::own ? ++local_ : ++exchanges_, launch};
  return launch != Launch::one_a_device || !launched().empty();
}

std::uint64_t* DeviceQueue::flag_of(Launch launch) const {
  DeviceFlags& mine = flags(control_.node_rank());
  return launch == Launch::own ? &mine.local : &mine.done;
}

Status DeviceQueue::begin_exchange(const std::vector<crossrail_block>& blocks, crossrail_engine engine, DeviceWork& work, Launch launch) {
  if (!number(work, launch)) return {};
  work.traced = trace_pieces("exchange", blocks);
  DeviceTimes::Piece timed(times_, engine == CROSSRAIL_ENGINE_PERSISTENT ? 0 : work.traced);
  const crossrail_exchange asked{header(CROSSRAIL_WORK_EXCHANGE, work, timed), blocks.data(), static_cast<int>(blocks.size()), engine, limits_.persistent_us};
  return enqueue(asked.work);
}

Status DeviceQueue::begin_movements(std::span<const crossrail_movement> movements, DeviceWork& work, Launch launch) {
  if (!number(work, launch)) return {};
  work.traced = trace_pieces(launch == Launch::own ? "copies" : "exchange", movements);
  if (launch == Launch::own && work.traced != 0) traced_copies_.push_back(work.traced);
  DeviceTimes::Piece timed(times_, work.traced);
  const crossrail_movements asked{header(CROSSRAIL_WORK_MOVE, work, timed), movements.data(), static_cast<int>(movements.size())};
  return enqueue(asked.work);
}

Status DeviceQueue::begin_combinations(std::span<crossrail_combination> combinations, DeviceWork& work, Launch launch) {
  if (!number(work, launch)) return {};
  work.traced = trace_pieces("combination", combinations);
  DeviceTimes::Piece timed(times_, work.traced);
  for (crossrail_combination& combination : combinations) {
    combination.work = header(CROSSRAIL_WORK_COMBINE, work, timed);
    if (&combination != &combinations.back()) combination.work.flag = nullptr;
    CROSSRAIL_TRY(enqueue(combination.work));
  }
  return {};
}

Status DeviceQueue::begin_copies(const std::vector<crossrail_block>& blocks, DeviceWork& work) {
  work = {++local_, Launch::own, trace_pieces("copies", blocks)};
  if (work.traced != 0) traced_copies_.push_back(work.traced);
  DeviceTimes::Piece timed(times_, work.traced);
  const crossrail_exchange asked{header(CROSSRAIL_WORK_EXCHANGE, work, timed), blocks.data(), static_cast<int>(blocks.size()), CROSSRAIL_ENGINE_KERNEL, 0};
  return enqueue(asked.work);
}

Status DeviceQueue::begin_packets(crossrail_packets packets, DeviceWork& work) {
  work = {++local_, Launch::own, trace::on() ? trace_work("packets", packets.block_bytes) : 0};
  DeviceTimes::Piece timed(times_, work.traced);
  packets.work = header(CROSSRAIL_WORK_PACKETS, work, timed);
  packets.abort = abort_flag();
  return enqueue(packets.work);
}

bool DeviceQueue::done(const DeviceWork& work) const {
  const auto told = [&work](std::uint64_t& word) { return read(word) >= work.number; };
  const std::vector<int>& ranks = tellers(work.launch);
  const bool all = work.launch == Launch::own ? told(flags(control_.node_rank()).local)
                                              : std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return told(flags(rank).done); });
  if (all && work.traced != 0) trace_end(work.traced);
  return all;
}

Status DeviceQueue::check_health() {
  if (queue_ != nullptr) CROSSRAIL_TRY(device::answered(module_->sync(queue_, CROSSRAIL_SYNC_ERRORS)));
  for (int rank = 0; rank < control_.node_size(); ++rank) {
    const int peer = control_.rank_of(rank);
    if (!links_.alive(peer)) return failure(Code::peer_lost, "rank %d has ended in a call on device memory", peer);
  }
  return {};
}

// Waits for a word that a device writes. Now and then it looks whether our own device still works and whether the ranks that it may wait
// for still live. A rank that has ended may have done its part before, while our own device is late. So the wait goes on for a while
// longer.
template <class Ready>
Status DeviceQueue::await(int peer, Ready ready) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLonger = std::chrono::milliseconds(100);
  unsigned looks = 0;
  Clock::time_point suspected = Clock::time_point::max();
  Status found;
  CROSSRAIL_TRY(control_.await(peer, [&] {
    if (ready()) return true;
    if (++looks % kLooksAQuestion != 0) return false;
    found = check_health();
    if (found.code != Code::peer_lost) return !found.ok();
    suspected = std::min(suspected, Clock::now());
    return Clock::now() - suspected > kLonger;
  }, kSpinNs));
  return ready() ? Status{} : found;
}

Status DeviceQueue::finish_by(int peer, const DeviceWork& work) {
  return await(peer, [&] { return read(flags(peer).done) >= work.number; });
}

Status DeviceQueue::finish_exchange(const DeviceWork& work) {
  for (const int peer : tellers(work.launch)) CROSSRAIL_TRY(finish_by(peer, work));
  return {};
}

Status DeviceQueue::finish(const DeviceWork& work) {
  const Status status = work.launch == Launch::own ? finish_own(work.number) : finish_exchange(work);
  if (work.traced != 0) trace_end(work.traced);
  return status;
}

Status DeviceQueue::finish_own(std::uint64_t number) {
  const std::uint64_t& word = flags(control_.node_rank()).local;
  std::uint64_t told = 0;
  CROSSRAIL_TRY(await(control_.node_rank(), [&] { return (told = read(word)) >= number; }));
  return gave_up(told) ? failed(Code::system, "a kernel has given up waiting for other ranks") : Status{};
}

Status DeviceQueue::enqueue_exchange(void* stream, const std::vector<crossrail_block>& blocks, const InStream& how) {
  crossrail_exchange asked{header(CROSSRAIL_WORK_EXCHANGE, stream), blocks.data(), static_cast<int>(blocks.size()), how.engine, 0};
  asked.work.before = how.before;
  asked.work.after = how.after;
  return enqueue(asked.work);
}

Status DeviceQueue::enqueue_combination(void* stream, crossrail_combination combination) {
  const crossrail_work meetings = combination.work;
  combination.work = header(CROSSRAIL_WORK_COMBINE, stream);
  combination.work.before = meetings.before;
  combination.work.after = meetings.after;
  return enqueue(combination.work);
}

Status DeviceQueue::enqueue_packets(void* stream, crossrail_packets packets) {
  packets.work = header(CROSSRAIL_WORK_PACKETS, stream);
  packets.abort = abort_flag();
  return enqueue(packets.work);
}

Status DeviceQueue::enqueue_counted(void* stream, crossrail_counted_exchange exchange) {
  exchange.work = header(CROSSRAIL_WORK_COUNTED, stream);
  exchange.wrong = &flags(control_.node_rank()).wrong;
  return enqueue(exchange.work);
}

Status DeviceQueue::enqueue_messages(void* stream, crossrail_messages messages) {
  messages.work = header(CROSSRAIL_WORK_MESSAGES, stream);
  messages.abort = abort_flag();
  return enqueue(messages.work);
}

std::string DeviceQueue::wrong_so_far() {
  const std::uint64_t word = std::atomic_ref<std::uint64_t>(flags(control_.node_rank()).wrong).exchange(0);
  if (word == 0) return {};
  const std::string peer = std::to_string(control_.rank_of(static_cast<int>(word & 0xffffffffu)));
  switch (word >> 32) {
    case CROSSRAIL_COUNTED_CUT: return "in an earlier call a block to rank " + peer + " was longer than that rank had room for, and was cut off";
    case CROSSRAIL_COUNTED_SEND: return "in an earlier call the block to rank " + peer + " had a negative count or was not in the buffer, and nothing was sent";
    default: return "in an earlier call the block from rank " + peer + " had a negative count or was not in the buffer, and nothing was received";
  }
}

void DeviceQueue::abort_waits() { write(flags(control_.node_rank()).abort, 1); }

void DeviceQueue::leave() { write(region_.lines[control_.node_rank()].left, 1); }

bool DeviceQueue::has_left(int rank) const { return read(region_.lines[rank].left) != 0; }

void DeviceQueue::drain() {
  if (queue_ != nullptr) (void)module_->sync(queue_, CROSSRAIL_SYNC_DRAIN);
  if (!traced_copies_.empty()) trace_end(traced_copies_.back());
  times_.collect();
}

}  // namespace crossrail
