#include "simulate/thread_links.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace crossrail::simulate {

Exchange::Message& Exchange::Channel::push() {
  if (count == slots.size()) {
    std::rotate(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(first), slots.end());
    first = 0;
    slots.resize(2 * slots.size());
  }
  return slots[(first + count++) % slots.size()];
}

void Exchange::Channel::pop() {
  first = (first + 1) % slots.size();
  --count;
}

Exchange::Exchange(int size, LinkOptions options) : options_(std::move(options)) {
  for (int rank = 0; rank < size; ++rank) {
    ranks_.push_back(std::make_unique<Rank>());
    ranks_.back()->from.resize(static_cast<std::size_t>(size));
    ranks_.back()->taken.resize(static_cast<std::size_t>(size));
  }
}

void Exchange::leave(int rank) {
  ranks_[rank]->left = true;
  for (const auto& other : ranks_) {
    const std::lock_guard lock(other->mutex);
    other->changed.notify_all();
  }
  const std::lock_guard lock(agreement_.mutex);
  agreement_.changed.notify_all();
}

bool Exchange::any_left() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->left.load(); });
}

// As MPI's error handler would: an error in a message ends it for everyone.
Status Exchange::break_up(Code code, const char* what) {
  broken_ = true;
  for (const auto& other : ranks_) {
    const std::lock_guard lock(other->mutex);
    other->changed.notify_all();
  }
  const std::lock_guard lock(agreement_.mutex);
  agreement_.changed.notify_all();
  return failed(code, what);
}

template <class Ready, class Gone>
Status Exchange::wait(Rank& rank, std::unique_lock<std::mutex>& lock, Ready ready, Gone gone) {
  const auto deadline = std::chrono::steady_clock::now() + options_.hang_after;
  while (!ready()) {
    if (broken_) return failed(Code::broken, "another rank met an error in a message");
    if (gone()) {
      if (ready()) return {};  // it had done its part before it left
      return failed(Code::peer_lost, "a rank has left while another waits for its message");
    }
    if (rank.changed.wait_until(lock, deadline) == std::cv_status::timeout && !ready()) {
      return failed(Code::system, "deadlock: no message came");
    }
  }
  return {};
}

void Exchange::send(int from, int to, const void* data, std::size_t bytes) {
  Rank& target = *ranks_[to];
  const std::lock_guard lock(target.mutex);
  Message& message = target.from[from].push();
  message.bytes = bytes;
  message.data = data;
  message.withdrawn = false;
  if (bytes <= options_.eager_bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    message.copy.assign(begin, begin + bytes);
    message.data = nullptr;
  }
  target.changed.notify_all();
}

// After an error the buffers of `from` are its program's again: no peer may still read them.
void Exchange::withdraw(int from) {
  for (const auto& target : ranks_) {
    const std::lock_guard lock(target->mutex);
    Channel& channel = target->from[from];
    for (std::size_t number = 0; number < channel.count; ++number) {
      Message& message = channel.slots[(channel.first + number) % channel.slots.size()];
      message.withdrawn = message.withdrawn || message.data != nullptr;
    }
  }
}

Status Exchange::receive(int from, int to, void* data, std::size_t bytes) {
  Rank& mine = *ranks_[to];
  Channel& channel = mine.from[from];
  bool was_long = false;
  std::size_t came = 0;
  {
    std::unique_lock lock(mine.mutex);
    CROSSRAIL_TRY(wait(mine, lock, [&] { return channel.count > 0; }, [&] { return left(from); }));
    Message& message = channel.front();
    if (message.withdrawn) return failed(Code::broken, "the sender of a message has met an error");
    was_long = message.data != nullptr;
    came = message.bytes;
    if (came == bytes && bytes > 0) std::memcpy(data, was_long ? message.data : message.copy.data(), bytes);
    channel.pop();
  }
  if (was_long) {
    Rank& sender = *ranks_[from];
    const std::lock_guard lock(sender.mutex);
    ++sender.taken[to];
    sender.changed.notify_all();
  }
  if (came != bytes) return break_up(Code::mismatch, "a message has another size than its receive");
  return {};
}

Status Exchange::wait_taken(int rank, const std::vector<std::uint64_t>& sent) {
  Rank& mine = *ranks_[rank];
  const auto gone = [&] {
    for (std::size_t peer = 0; peer < sent.size(); ++peer) {
      if (left(static_cast<int>(peer)) && mine.taken[peer] != sent[peer]) return true;
    }
    return false;
  };
  std::unique_lock lock(mine.mutex);
  return wait(mine, lock, [&] { return mine.taken == sent; }, gone);
}

Status Exchange::agree(Code mine, Code& worst) {
  std::unique_lock lock(agreement_.mutex);
  const std::uint64_t round = agreement_.round;
  agreement_.worst = std::max(agreement_.worst, mine);
  if (++agreement_.arrived == static_cast<int>(ranks_.size())) {
    agreement_.result = agreement_.worst;
    agreement_.worst = Code::ok;
    agreement_.arrived = 0;
    ++agreement_.round;
    agreement_.changed.notify_all();
  }
  const auto deadline = std::chrono::steady_clock::now() + options_.hang_after;
  while (agreement_.round == round) {
    if (broken_) return failed(Code::broken, "another rank met an error in a message");
    if (any_left()) return failed(Code::peer_lost, "a rank has left while another waits for its agreement");
    if (agreement_.changed.wait_until(lock, deadline) == std::cv_status::timeout && agreement_.round == round) {
      return failed(Code::system, "deadlock: no agreement came");
    }
  }
  worst = agreement_.result;
  return {};
}

ThreadLinks::ThreadLinks(Exchange& exchange, int rank) : exchange_(exchange), rank_(rank) {
  receives_.reserve(2 * exchange.ranks_.size());
  long_sends_.resize(exchange.ranks_.size());
}

Status ThreadLinks::open_messages() {
  if (exchange_.options_.open_messages != nullptr) CROSSRAIL_TRY(exchange_.options_.open_messages(rank_));
  open_ = true;
  return {};
}

Status ThreadLinks::post_send(int rank, const void* data, std::size_t bytes) {
  if (!open_) return failed(Code::invalid, "a message before open_messages");
  counters().sends += 1;
  counters().sent_bytes += bytes;
  if (bytes > exchange_.options_.eager_bytes) ++long_sends_[rank];
  exchange_.send(rank_, rank, data, bytes);
  return {};
}

Status ThreadLinks::post_recv(int rank, void* data, std::size_t bytes) {
  if (!open_) return failed(Code::invalid, "a message before open_messages");
  receives_.push_back({rank, data, bytes});
  return {};
}

Status ThreadLinks::wait_posted() {
  Status worst;
  for (const Receive& one : receives_) {
    if (worst.ok()) worst = exchange_.receive(one.rank, rank_, one.data, one.bytes);
  }
  receives_.clear();
  if (worst.ok()) worst = exchange_.wait_taken(rank_, long_sends_);
  if (!worst.ok()) exchange_.withdraw(rank_);
  return worst;
}

Status ThreadLinks::agree(Code mine, Code& worst) {
  counters().agreements += 1;
  return exchange_.agree(mine, worst);
}

Status ThreadLinks::offer(const void* data, std::size_t bytes, std::uint64_t& address) {
  const bool readable = exchange_.options_.readable == nullptr || exchange_.options_.readable(rank_);
  if (bytes != 0 && !readable) {
    offered_.assign(static_cast<const std::byte*>(data), static_cast<const std::byte*>(data) + bytes);
    data = offered_.data();
  }
  address = reinterpret_cast<std::uint64_t>(data);
  return {};
}

Status ThreadLinks::read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) {
  (void)rank;
  if (exchange_.options_.may_read != nullptr && !exchange_.options_.may_read(rank_)) {
    return failed(Code::system, "reading another rank's memory is not allowed");
  }
  counters().reads += 1;
  if (bytes > 0) std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
  return {};
}

void ThreadLinks::progress() { counters().progress_calls += 1; }

}  // namespace crossrail::simulate
