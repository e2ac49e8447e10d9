#include "simulate/thread_links.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/bytes.h"

namespace crossrail::simulate {

Exchange::Message& Exchange::Queue::push() {
  if (count == slots.size()) {
    std::rotate(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(first), slots.end());
    first = 0;
    slots.resize(2 * slots.size());
  }
  return slots[(first + count++) % slots.size()];
}

void Exchange::Queue::pop() {
  first = (first + 1) % slots.size();
  --count;
}

Exchange::Exchange(const std::vector<int>& node_of, LinkOptions options) : options_(std::move(options)), node_of_(node_of) {
  for (const int node : node_of) {
    ranks_.push_back(std::make_unique<Rank>());
    ranks_.back()->from.resize(node_of.size());
    ranks_.back()->taken.resize(2 * node_of.size());
    while (static_cast<int>(nodes_.size()) <= node) nodes_.push_back(std::make_unique<Node>());
    ++nodes_[node]->size;
  }
}

void Exchange::notify(Rank& rank) {
  const std::lock_guard lock(rank.mutex);
  ++rank.events;
  rank.changed.notify_all();
}

void Exchange::leave(int rank) {
  ranks_[rank]->left = true;
  for (const auto& other : ranks_) notify(*other);
  const std::lock_guard lock(agreement_.mutex);
  agreement_.changed.notify_all();
}

bool Exchange::any_left() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->left.load(); });
}

// As MPI's error handler would: an error in a message ends it for everyone.
Status Exchange::break_up(Code code, const char* what) {
  broken_ = true;
  for (const auto& other : ranks_) notify(*other);
  const std::lock_guard lock(agreement_.mutex);
  agreement_.changed.notify_all();
  return failed(code, what);
}

std::uint64_t Exchange::events(int rank) {
  const std::lock_guard lock(ranks_[rank]->mutex);
  return ranks_[rank]->events;
}

Status Exchange::wait_event(int rank, std::uint64_t known) {
  Rank& mine = *ranks_[rank];
  std::unique_lock lock(mine.mutex);
  if (!mine.changed.wait_for(lock, options_.hang_after, [&] { return mine.events != known; })) {
    return failed(Code::system, "deadlock: no message came");
  }
  return {};
}

void Exchange::send(const Address& address, const void* data, std::size_t bytes) {
  Rank& target = *ranks_[address.to];
  const std::lock_guard lock(target.mutex);
  Message& message = queue(address).push();
  message.bytes = bytes;
  message.data = data;
  message.withdrawn = false;
  if (bytes <= options_.eager_bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    message.copy.assign(begin, begin + bytes);
    message.data = nullptr;
  }
  ++target.events;
  target.changed.notify_all();
}

// After an error the buffers of `from` are its program's again: no peer may still read them.
void Exchange::withdraw(int from) {
  for (const auto& target : ranks_) {
    const std::lock_guard lock(target->mutex);
    for (Queue& queue : target->from[from].queue) {
      for (std::size_t number = 0; number < queue.count; ++number) {
        Message& message = queue.slots[(queue.first + number) % queue.slots.size()];
        message.withdrawn = message.withdrawn || message.data != nullptr;
      }
    }
  }
}

Status Exchange::receive(const Address& address, void* data, std::size_t bytes, bool& done) {
  Rank& mine = *ranks_[address.to];
  Queue& from = queue(address);
  bool was_long = false;
  std::size_t came = 0;
  done = false;
  {
    const bool gone = left(address.from);  // before looking: what it sent before it left counts
    const std::lock_guard lock(mine.mutex);
    if (from.count == 0) return gone ? failed(Code::peer_lost, "a rank has left while another waits for its message") : Status{};
    Message& message = from.front();
    if (message.withdrawn) return failed(Code::broken, "the sender of a message has met an error");
    was_long = message.data != nullptr;
    came = message.bytes;
    if (came == bytes && bytes > 0) std::memcpy(data, was_long ? message.data : message.copy.data(), bytes);
    from.pop();
  }
  done = true;
  if (was_long) {
    Rank& sender = *ranks_[address.from];
    const std::lock_guard lock(sender.mutex);
    ++sender.taken[lane_of(address.to, address.channel)];
    ++sender.events;
    sender.changed.notify_all();
  }
  if (came != bytes) return break_up(Code::mismatch, "a message has another size than its receive");
  return {};
}

Status Exchange::taken(const Address& address, std::uint64_t count, bool& done) {
  Rank& mine = *ranks_[address.from];
  const bool gone = left(address.to);
  const std::lock_guard lock(mine.mutex);
  done = mine.taken[lane_of(address.to, address.channel)] >= count;
  if (!done && gone) return failed(Code::peer_lost, "a rank has left without taking a message");
  return {};
}

Status Exchange::share(int rank, std::size_t bytes, NodeMemory& memory) {
  if (memory.bytes >= bytes) return {};
  const int number = node_of_[rank];
  Node& node = *nodes_[number];
  std::unique_lock lock(node.mutex);
  const std::uint64_t round = node.round;
  if (++node.arrived == node.size) {  // nobody uses the old memory any more
    node.outcome = options_.share == nullptr ? Status{} : options_.share(number);
    if (node.outcome.ok()) node.memory.assign(bytes + kCacheLineBytes, std::byte{});
    node.arrived = 0;
    ++node.round;
    node.changed.notify_all();
  }
  const auto deadline = std::chrono::steady_clock::now() + options_.hang_after;
  while (node.round == round) {
    if (any_left()) return failed(Code::peer_lost, "a rank has left while another waits to share memory with it");
    if (node.changed.wait_until(lock, std::min(deadline, std::chrono::steady_clock::now() + std::chrono::milliseconds(50))) ==
            std::cv_status::timeout && std::chrono::steady_clock::now() >= deadline) {
      return failed(Code::system, "deadlock: not all ranks of a node came to share memory");
    }
  }
  if (!node.outcome.ok()) return node.outcome;
  const auto address = reinterpret_cast<std::uintptr_t>(node.memory.data());
  const std::size_t skip = round_up(address, kCacheLineBytes) - address;
  memory = {node.memory.data() + skip, bytes, 0};
  return {};
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
  posted_.reserve(4 * exchange.ranks_.size());
  long_sends_.resize(2 * exchange.ranks_.size());
}

Status ThreadLinks::open_messages() {
  if (exchange_.options_.open_messages != nullptr) CROSSRAIL_TRY(exchange_.options_.open_messages(rank_));
  open_ = true;
  return {};
}

Status ThreadLinks::post_send(int rank, const void* data, std::size_t bytes, Channel channel) {
  if (!open_) return failed(Code::invalid, "a message before open_messages");
  counters().sends += 1;
  counters().sent_bytes += bytes;
  const bool is_long = bytes > exchange_.options_.eager_bytes;
  const Exchange::Address address{rank_, rank, channel};
  posted_.push_back({Posted::sent, address, nullptr, bytes, is_long ? ++long_sends_[Exchange::lane_of(rank, channel)] : 0});
  exchange_.send(address, data, bytes);
  return {};
}

Status ThreadLinks::post_recv(int rank, void* data, std::size_t bytes, Channel channel) {
  if (!open_) return failed(Code::invalid, "a message before open_messages");
  posted_.push_back({Posted::receive, {rank, rank_, channel}, data, bytes, 0});
  return {};
}

Status ThreadLinks::sweep() {
  if (!failed_.ok()) return failed_;
  if (exchange_.broken_) return failed_ = failed(Code::broken, "another rank met an error in a message");
  for (std::size_t at = 0; at < posted_.size() && failed_.ok(); ++at) {
    Posted& one = posted_[at];
    bool done = one.kind == Posted::sent && one.number == 0;
    if (one.kind == Posted::receive) {
      // Between two ranks, on a channel, in the order posted.
      const bool first = std::none_of(posted_.begin(), posted_.begin() + static_cast<std::ptrdiff_t>(at), [&](const Posted& before) {
        return before.kind == Posted::receive && before.address == one.address;
      });
      if (first) failed_ = exchange_.receive(one.address, one.data, one.bytes, done);
    } else if (one.kind == Posted::sent && one.number > 0) {
      failed_ = exchange_.taken(one.address, one.number, done);
    }
    if (done) one.kind = Posted::done;
  }
  if (!failed_.ok()) exchange_.withdraw(rank_);
  return failed_;
}

Status ThreadLinks::wait_until_done(Ticket first, Ticket end) {
  while (true) {
    const std::uint64_t known = exchange_.events(rank_);
    CROSSRAIL_TRY(sweep());
    const auto begin = posted_.begin();
    if (std::all_of(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end),
                    [](const Posted& one) { return one.kind == Posted::done; })) {
      return {};
    }
    CROSSRAIL_TRY(exchange_.wait_event(rank_, known));
  }
}

Status ThreadLinks::wait_for(Ticket ticket) { return wait_until_done(ticket, ticket + 1); }

Status ThreadLinks::wait_posted() {
  const Status status = wait_until_done(0, posted_.size());
  posted_.clear();
  failed_ = {};
  return status;
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

void ThreadLinks::progress() {
  counters().progress_calls += 1;
  if (!posted_.empty()) (void)sweep();  // an error is told by the wait to come
}

}  // namespace crossrail::simulate
