#include "simulated_world/adapter.h"

#include <algorithm>

namespace crossrail::simulated_world {

bool LeastRecentlyUsed::use(std::uint64_t entry) {
  const auto found = places_.find(entry);
  if (found != places_.end()) {
    order_.splice(order_.begin(), order_, found->second);
    return true;
  }
  if (most_ == 0) return false;
  if (order_.size() == most_) {
    places_.erase(order_.back());
    order_.back() = entry;
    order_.splice(order_.begin(), order_, std::prev(order_.end()));
  } else {
    order_.push_front(entry);
  }
  places_[entry] = order_.begin();
  return false;
}

Adapter::Adapter(const Machine& machine) : machine_(machine), queue_pairs_(static_cast<std::size_t>(machine.cached)) {}

Time Adapter::held_up(const Connection& connection) {
  const auto there = static_cast<std::uint64_t>(connection.there);
  switch (machine_.kind()) {
    case Transport::reliable:
      if (queue_pairs_.use(static_cast<std::uint64_t>(connection.here) << 32 | there)) return 0;
      ++missed_;
      return Machine::time(machine_.miss);
    case Transport::dynamic:
      return contexts_.try_emplace(connection.here, static_cast<std::size_t>(machine_.contexts)).first->second.use(there) ? 0 : Machine::time(machine_.reconnect);
    case Transport::datagram: return 0;
  }
  return 0;
}

Time Adapter::service(const Connection& connection, std::size_t bytes) {
  return std::max(Machine::time(machine_.adapter_gap), Machine::of_bytes(bytes, machine_.adapter_bandwidth)) + held_up(connection);
}

Time Adapter::send(const Connection& connection, std::size_t bytes, Time at) {
  return sends_until_ = std::max(at, sends_until_) + service(connection, bytes);
}

Time Adapter::receive(const Connection& connection, std::size_t bytes, Time at) {
  const Time takes = service(connection, bytes);
  // The bytes come in while they leave the other adapter, unless this one is behind.
  const Time alone = at + takes - std::max(Machine::time(machine_.adapter_gap), Machine::of_bytes(bytes, machine_.adapter_bandwidth));
  return receives_until_ = std::max(alone, receives_until_ + takes);
}

}  // namespace crossrail::simulated_world
