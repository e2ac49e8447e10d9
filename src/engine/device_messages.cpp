#include "engine/device_messages.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <vector>

#include "base/log.h"
#include "device/device.h"
#include "engine/engine.h"

namespace crossrail {
namespace {

using Where = MessageRoom::Where;
using Clock = std::chrono::steady_clock;

// These are sizes of a message in bytes, in falling order.
constexpr std::size_t kSizes[] = {std::size_t{1} << 20, std::size_t{64} << 10, std::size_t{4} << 10};
constexpr int kRounds = 5;         // The first round is not counted.
constexpr double kFaster = 0.97;   // A time above this fraction of the time through host memory counts as noise.
constexpr std::uint32_t kFailed = ~std::uint32_t{0};

// This process has found it by comparing and uses it for its other communicators; 0 means that nothing is known yet.
std::atomic<std::size_t> found_before{0};

// Every rank sends to the rank `shift` further on. The shift is chosen so that as many pairs as possible are on different nodes.
int best_shift(const Topology& topology) {
  constexpr int kMost = 128;
  int best = 1, most = -1;
  for (int shift = 1; shift < std::min(topology.size, kMost); ++shift) {
    int apart = 0;
    for (int rank = 0; rank < topology.size; ++rank) {
      apart += topology.node_of[static_cast<std::size_t>(rank)] != topology.node_of[static_cast<std::size_t>((rank + shift) % topology.size)] ? 1 : 0;
    }
    if (apart > most) best = shift, most = apart;
  }
  return best;
}

// A Trial sends a rank's bytes from a block of its device to a block of another rank's.
class Trial {
 public:
  explicit Trial(Slot& slot) : slot_(slot), queue_(slot.devices->queue()), host_(queue_), device_(queue_) {}
  ~Trial() {
    queue_.drain();  // The queue is not empty after an error.
    if (blocks_ != nullptr) (void)queue_.module().free(blocks_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // This concerns only this rank.
  bool prepare() {
    void* memory = nullptr;
    if (queue_.module().alloc(&queue_.home(), 2 * kSizes[0], &memory) != nullptr) return false;
    blocks_ = static_cast<std::byte*>(memory);
    if (!host_.reserve(2 * kSizes[0], Where::host) || !device_.reserve(2 * kSizes[0], Where::device)) return false;
    if (device_.where() != Where::device) return false;
    const std::vector<std::byte> mine = pattern_of(slot_.owner.topology.rank);
    return device::copy(blocks_, mine.data(), mine.size()).ok();
  }

  // Finds the nanoseconds of the slowest rank in the best round, or kFailed if some rank has received wrong bytes.
  Status time(Where where, std::size_t bytes, std::uint32_t& best) {
    best = kFailed;
    for (int round = 0; round < kRounds; ++round) {
      const Clock::time_point begin = Clock::now();
      CROSSRAIL_TRY(exchange(where == Where::host ? host_ : device_, bytes));
      const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
      std::uint32_t slowest = static_cast<std::uint32_t>(std::clamp<std::int64_t>(passed, 1, kFailed - 1));
      if (round == 0 && !right(bytes)) slowest = kFailed;
      CROSSRAIL_TRY(agree_on_largest(slot_, slowest, slowest));
      if (slowest == kFailed) return {};
      if (round > 0) best = std::min(best, slowest);
    }
    return {};
  }

 private:
  static std::vector<std::byte> pattern_of(int rank) {
    std::vector<std::byte> all(kSizes[0]);
    std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 1);
    for (std::size_t at = 0; at < all.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = random();
      std::memcpy(&all[at], &word, sizeof word);
    }
    return all;
  }
  int shifted(int by) const { return (slot_.owner.topology.rank + by + slot_.owner.topology.size) % slot_.owner.topology.size; }

  Status copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    DeviceWork work;
    CROSSRAIL_TRY(queue_.begin_copies({crossrail_block{to, from, bytes}}, work));
    return queue_.finish(work);
  }
  Status exchange(const MessageRoom& room, std::size_t bytes) {
    CROSSRAIL_TRY(copy(room.on_device(), blocks_, bytes));
    const Status sent = exchange_messages(room, bytes);
    if (!sent.ok()) slot_.links->cancel_posted();  // The room is about to be freed.
    CROSSRAIL_TRY(sent);
    return copy(blocks_ + kSizes[0], room.on_device() + kSizes[0], bytes);
  }
  Status exchange_messages(const MessageRoom& room, std::size_t bytes) {
    CROSSRAIL_TRY(slot_.links->post_recv(shifted(-shift_), room.memory() + kSizes[0], bytes));
    CROSSRAIL_TRY(slot_.links->post_send(shifted(shift_), room.memory(), bytes));
    return slot_.links->wait_posted();
  }
  // Checks what has arrived, and erases it.
  bool right(std::size_t bytes) const {
    std::vector<std::byte> came(bytes);
    const std::vector<std::byte> sent = pattern_of(shifted(-shift_)), nothing(bytes);
    if (!device::copy(came.data(), blocks_ + kSizes[0], bytes).ok()) return false;
    return device::copy(blocks_ + kSizes[0], nothing.data(), bytes).ok() && std::equal(came.begin(), came.end(), sent.begin());
  }

  Slot& slot_;
  DeviceQueue& queue_;
  MessageRoom host_, device_;
  std::byte* blocks_ = nullptr;  // One block sends, the other receives.
  int shift_ = best_shift(slot_.owner.topology);
};

// Finds the size from which on all messages are faster from device to device, or SIZE_MAX if none are.
Status compare(Trial& trial, bool always, std::size_t& from) {
  from = SIZE_MAX;
  for (const std::size_t bytes : kSizes) {
    std::uint32_t by_host = 0, straight = 0;
    CROSSRAIL_TRY(trial.time(Where::host, bytes, by_host));
    CROSSRAIL_TRY(trial.time(Where::device, bytes, straight));
    if (straight == kFailed) {
      log_line(LogLevel::error, "the MPI library claims to accept device memory, but messages from there arrive wrong: they go through host memory instead");
      from = SIZE_MAX;
      return {};
    }
    log_line(LogLevel::plan, "messages of %zu bytes between nodes: %.1f us through host memory, %.1f us directly from device memory", bytes,
             by_host / 1e3, straight / 1e3);
    if (!always && straight > kFaster * by_host) return {};
    from = bytes;
  }
  from = 1;
  return {};
}

}  // namespace

Status try_device_messages(Slot& slot) {
  Communicator& communicator = slot.owner;
  if (communicator.device_messages.known) return {};
  communicator.device_messages = {true, SIZE_MAX};
  const Settings& settings = communicator.settings;
  if (settings.device_messages == 0) return {};
  const bool always = settings.device_messages == 2;
  std::uint32_t unable = slot.links->take_device_memory() && communicator.helpers == nullptr ? 0 : 1;
  std::uint32_t unknown = always || found_before == 0 ? 1 : 0;
  CROSSRAIL_TRY(agree_on_largest(slot, 2 * unable + unknown, unknown));
  if (unknown >= 2) return {};
  if (unknown == 0) {
    communicator.device_messages.from = found_before;
    return {};
  }
  const Status opened = slot.links->open_messages();
  if (!opened.ok()) return opened.code == Code::unsupported ? Status{} : opened;  // This is so on all ranks alike.
  Trial trial(slot);
  unable = trial.prepare() ? 0 : 1;
  CROSSRAIL_TRY(agree_on_largest(slot, unable, unable));
  if (unable != 0) return {};
  CROSSRAIL_TRY(compare(trial, always, communicator.device_messages.from));
  if (!always) found_before = communicator.device_messages.from;
  return {};
}

MessageRoom::Where where_messages_are(const Communicator& communicator, const MessageNeeds& needs) {
  const bool straight = !needs.for_processors && needs.longest >= communicator.device_messages.from;
  return straight ? Where::device : Where::host;
}

}  // namespace crossrail
