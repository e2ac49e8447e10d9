// This is what the threads of one communicator share.
#include "virtual_world/thread_links.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/bytes.h"

namespace crossrail::virtual_world {

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

Exchange::Exchange(const std::vector<int>& node_of, LinkOptions options, int slots)
    : options_(std::move(options)), node_of_(node_of), slots_(static_cast<std::size_t>(slots)), queues_(2 * slots_) {
  for (std::size_t slot = 0; slot < slots_; ++slot) agreements_.push_back(std::make_unique<Agreement>());
  for (const int node : node_of) {
    ranks_.push_back(std::make_unique<Rank>());
    ranks_.back()->from.resize(node_of.size());
    for (std::vector<Queue>& queues : ranks_.back()->from) queues.resize(queues_);
    ranks_.back()->taken.resize(queues_ * node_of.size());
    while (nodes_.size() < (static_cast<std::size_t>(node) + 1) * slots_) nodes_.push_back(std::make_unique<Node>());
    for (std::size_t slot = 0; slot < slots_; ++slot) ++nodes_[static_cast<std::size_t>(node) * slots_ + slot]->size;
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
  for (const auto& agreement : agreements_) {
    const std::lock_guard lock(agreement->mutex);
    agreement->changed.notify_all();
  }
}

bool Exchange::any_left() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->left.load(); });
}

// Like MPI's error handler, this ends it for everyone when there is an error in a message.
Status Exchange::break_up(Code code, const char* what) {
  broken_ = true;
  for (const auto& other : ranks_) notify(*other);
  for (const auto& agreement : agreements_) {
    const std::lock_guard lock(agreement->mutex);
    agreement->changed.notify_all();
  }
  return failed(code, what);
}

std::uint64_t Exchange::events(int rank) {
  const std::lock_guard lock(ranks_[rank]->mutex);
  return ranks_[rank]->events;
}

std::chrono::microseconds Exchange::while_of_waiting() const {
  return options_.meanwhile == nullptr ? std::chrono::milliseconds(20) : std::chrono::microseconds(100);
}

void Exchange::meanwhile(int rank) const {
  if (options_.meanwhile != nullptr) options_.meanwhile(rank);
}

void Exchange::wait_event(int rank, std::uint64_t known) {
  Rank& mine = *ranks_[rank];
  std::unique_lock lock(mine.mutex);
  (void)mine.changed.wait_for(lock, while_of_waiting(), [&] { return mine.events != known; });
}

void Exchange::send(const Address& address, const Sent& sent) {
  const auto [data, bytes, call] = sent;
  Rank& target = *ranks_[address.to];
  const std::lock_guard lock(target.mutex);
  Message& message = queue(address).push();
  message.bytes = bytes;
  message.data = data;
  message.call = call;
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
void Exchange::withdraw(int from, int slot) {
  for (const auto& target : ranks_) {
    const std::lock_guard lock(target->mutex);
    for (const std::size_t channel : {0, 1}) {
      Queue& queue = target->from[from][2 * static_cast<std::size_t>(slot) + channel];
      for (std::size_t number = 0; number < queue.count; ++number) {
        Message& message = queue.slots[(queue.first + number) % queue.slots.size()];
        message.withdrawn = message.withdrawn || message.data != nullptr;
      }
    }
  }
}

Status Exchange::receive(const Receive& wanted, std::size_t& came, bool& done) {
  const Address& address = wanted.address;
  Rank& mine = *ranks_[address.to];
  Queue& from = queue(address);
  bool was_long = false;
  done = false;
  {
    const bool gone = left(address.from);  // It looks at this before the message, because what the rank sent before it left counts.
    const std::lock_guard lock(mine.mutex);
    if (from.count == 0) return gone ? failed(Code::peer_lost, "a rank has left while another waits for its message") : Status{};
    Message& message = from.front();
    if (message.call > wanted.call) return {};
    if (message.call < wanted.call) return failed(Code::mismatch, "nobody has received a message of an earlier call");
    if (message.withdrawn) return failed(Code::broken, "the sender of a message has met an error");
    was_long = message.data != nullptr;
    came = message.bytes;
    const bool fits = came == wanted.bytes || (wanted.may_be_shorter && came < wanted.bytes);
    if (fits && came > 0) std::memcpy(wanted.data, was_long ? message.data : message.copy.data(), came);
    from.pop();
  }
  done = true;
  if (was_long) {
    Rank& sender = *ranks_[address.from];
    const std::lock_guard lock(sender.mutex);
    ++sender.taken[place_of(address.to, address.queue)];
    ++sender.events;
    sender.changed.notify_all();
  }
  if (came > wanted.bytes || (came < wanted.bytes && !wanted.may_be_shorter)) return break_up(Code::mismatch, "a message has another size than its receive");
  return {};
}

Status Exchange::taken(const Address& address, std::uint64_t count, bool& done) {
  Rank& mine = *ranks_[address.from];
  const bool gone = left(address.to);
  const std::lock_guard lock(mine.mutex);
  done = mine.taken[place_of(address.to, address.queue)] >= count;
  if (!done && gone) return failed(Code::peer_lost, "a rank has left without taking a message");
  return {};
}

template <class Place>
Status Exchange::await_round(Place& place, std::uint64_t round, const Meeting& meeting) {
  const auto deadline = std::chrono::steady_clock::now() + options_.hang_after;
  Status trouble;
  const auto over = [&] {
    const std::lock_guard lock(place.mutex);
    if (place.round != round) return true;
    if (meeting.control != nullptr && meeting.control->broken_up()) trouble = meeting.control->judge();
    if (broken_) trouble = failed(Code::broken, "another rank met an error in a message");
    if (any_left()) trouble = failed(Code::peer_lost, "a rank has left while another waits for its agreement");
    if (std::chrono::steady_clock::now() > deadline) trouble = failed(Code::system, "deadlock: not all ranks came to agree");
    return !trouble.ok();
  };
  if (meeting.fiber != nullptr) {
    meeting.fiber->before_wait();
    if (!over()) meeting.fiber->wait_until(over);
    return trouble;
  }
  while (!over()) {
    meanwhile(meeting.rank);
    std::unique_lock lock(place.mutex);
    (void)place.changed.wait_for(lock, while_of_waiting(), [&] { return place.round != round; });
  }
  return trouble;
}

Status Exchange::share(const Meeting& meeting, std::size_t bytes, NodeMemory& memory) {
  if (memory.bytes >= bytes) return {};
  const int number = node_of_[meeting.rank];
  Node& node = *nodes_[static_cast<std::size_t>(number) * slots_ + static_cast<std::size_t>(meeting.slot)];
  std::uint64_t round = 0;
  {
    const std::lock_guard lock(node.mutex);
    round = node.round;
    if (++node.arrived == node.size) {  // Nobody uses the old memory any more.
      node.outcome = options_.share == nullptr ? Status{} : options_.share(number);
      if (node.outcome.ok()) node.memory.assign(bytes + kCacheLineBytes, std::byte{});
      node.arrived = 0;
      ++node.round;
      node.changed.notify_all();
    }
  }
  CROSSRAIL_TRY(await_round(node, round, meeting));
  const std::lock_guard lock(node.mutex);
  if (!node.outcome.ok()) return node.outcome;
  const auto address = reinterpret_cast<std::uintptr_t>(node.memory.data());
  const std::size_t skip = round_up(address, kCacheLineBytes) - address;
  memory = {node.memory.data() + skip, bytes, 0};
  return {};
}

Status Exchange::agree_on_largest(const Meeting& meeting, std::uint32_t mine, std::uint32_t& largest) {
  Agreement& agreement = *agreements_[static_cast<std::size_t>(meeting.slot)];
  std::uint64_t round = 0;
  {
    const std::lock_guard lock(agreement.mutex);
    round = agreement.round;
    agreement.largest = std::max(agreement.largest, mine);
    if (++agreement.arrived == static_cast<int>(ranks_.size())) {
      agreement.result = agreement.largest;
      agreement.largest = 0;
      agreement.arrived = 0;
      ++agreement.round;
      agreement.changed.notify_all();
    }
  }
  CROSSRAIL_TRY(await_round(agreement, round, meeting));
  const std::lock_guard lock(agreement.mutex);
  largest = agreement.result;
  return {};
}

}  // namespace crossrail::virtual_world
