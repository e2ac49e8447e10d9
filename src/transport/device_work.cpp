// DeviceBoard: what it asks of the device, and how it waits for it.

#include "transport/device_board.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace crossrail {
namespace {

constexpr unsigned kLooksAQuestion = 1u << 14;

std::uint64_t read(const std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}
void write(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

}  // namespace

// Waits for a word that a device writes. Now and then looks whether our own device still works and
// whether the ranks that it may wait for still live.
template <class Ready>
Status DeviceBoard::await_device(int peer, Ready ready) {
  unsigned looks = 0;
  Status found;
  CROSSRAIL_TRY(board_.await(peer, [&] {
    if (ready()) return true;
    if (++looks % kLooksAQuestion != 0) return false;
    found = device::answered(module_->look(queue_));
    for (int rank = 0; rank < board_.node_size() && found.ok(); ++rank) {
      if (!links_.alive(board_.rank_of(rank))) found = failure(Code::peer_lost, "rank %d has ended in a call on device memory", board_.rank_of(rank));
    }
    return !found.ok();
  }));
  return found;
}

Status DeviceBoard::exchange(const std::vector<crossrail_block>& blocks, crossrail_engine engine) {
  const int rank = board_.node_rank();
  const std::uint64_t number = ++exchanges_;
  const crossrail_exchange work{blocks.data(), static_cast<int>(blocks.size()), engine, placement_.multiprocessors,
                                placement_.resident_us, nullptr, &flags(rank).done, number};
  CROSSRAIL_TRY(device::answered(module_->exchange(queue_, &work)));
  for (int step = 0; step < board_.node_size(); ++step) {
    const int peer = (rank + step) % board_.node_size();
    CROSSRAIL_TRY(await_device(peer, [&] { return read(flags(peer).done) >= number; }));
  }
  return {};
}

Status DeviceBoard::copy_local(const std::vector<crossrail_block>& blocks) {
  const crossrail_exchange work{blocks.data(), static_cast<int>(blocks.size()), CROSSRAIL_ENGINE_KERNEL,
                                placement_.multiprocessors, 0, nullptr, &flags(board_.node_rank()).local, ++local_};
  return device::answered(module_->exchange(queue_, &work));
}

Status DeviceBoard::pack(crossrail_packing packing) { return device::answered(module_->pack(queue_, &packing)); }

Status DeviceBoard::await_local() {
  const std::uint64_t number = local_;
  const std::uint64_t& word = flags(board_.node_rank()).local;
  std::uint64_t seen = 0;
  CROSSRAIL_TRY(await_device(board_.node_rank(), [&] { return (seen = read(word)) == number || seen == ~number; }));
  return seen == number ? Status{} : failed(Code::system, "a kernel has given up waiting for other ranks");
}

void DeviceBoard::fill_in(Use use, crossrail_packets& packets) {
  const Inboxes& inboxes = inboxes_[static_cast<int>(use)];
  packets.rank = board_.node_rank();
  packets.ranks = board_.node_size();
  packets.inboxes = inboxes.all.data();
  packets.inbox_bytes = inboxes.own.bytes;
  packets.leave = &flags(board_.node_rank()).leave;
}

Status DeviceBoard::packets(crossrail_packets packets) {
  fill_in(Use::calls, packets);
  packets.stream = nullptr;
  packets.flag = &flags(board_.node_rank()).local;
  packets.value = ++local_;
  CROSSRAIL_TRY(device::answered(module_->packets(queue_, &packets)));
  return await_local();
}

Status DeviceBoard::packets_on(void* stream, crossrail_packets packets) {
  fill_in(Use::streams, packets);
  packets.stream = stream;
  packets.flag = nullptr;
  return device::answered(module_->packets(queue_, &packets));
}

Status DeviceBoard::meet_on(void* stream) {
  const Inboxes& inboxes = inboxes_[static_cast<int>(Use::streams)];
  const crossrail_meeting meeting{board_.node_rank(), board_.node_size(), inboxes.all.data(), inboxes.own.bytes,
                                  &flags(board_.node_rank()).leave, stream};
  return device::answered(module_->meet(queue_, &meeting));
}

Status DeviceBoard::exchange_on(void* stream, const std::vector<crossrail_block>& blocks, crossrail_engine engine) {
  const crossrail_exchange work{blocks.data(), static_cast<int>(blocks.size()), engine, placement_.multiprocessors, 0, stream, nullptr, 0};
  return device::answered(module_->exchange(queue_, &work));
}

Status DeviceBoard::watch_peers() {
  if (lost_.load()) return failed(Code::peer_lost, "a rank has ended");
  if (!watcher_.joinable()) watcher_ = std::jthread([this](std::stop_token stop) { watch(stop); });
  return {};
}

void DeviceBoard::watch(std::stop_token stop) {
  constexpr auto kPause = std::chrono::milliseconds(100);
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, kPause, [&] { return stop.stop_requested(); })) {
    for (int rank = 0; rank < board_.node_size(); ++rank) {
      if (links_.alive(board_.rank_of(rank))) continue;
      write(flags(board_.node_rank()).leave, 1);
      lost_ = true;
      return;
    }
  }
}

bool DeviceBoard::share_a_device() const {
  for (int one = 0; one < board_.node_size(); ++one) {
    for (int other = 0; other < one; ++other) {
      if (lines_[one].identity == lines_[other].identity) return true;
    }
  }
  return false;
}

void DeviceBoard::abandon() {
  if (queue_ == nullptr) return;
  write(flags(board_.node_rank()).leave, 1);
  (void)module_->drain(queue_);
}

}  // namespace crossrail
