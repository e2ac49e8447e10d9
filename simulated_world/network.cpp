#include "simulated_world/network.h"

#include <algorithm>
#include <string>

namespace crossrail::simulated_world {
namespace {

constexpr std::size_t kAnnouncement = 64;  // These bytes announce a message, or ask for it.

}  // namespace

void Message::happen(Time when) { network->happens(*this, when); }

Network::Network(const std::vector<Place>& places, int largest_node, const Machine& machine, Scheduler& scheduler)
    : places_(places), largest_node_(largest_node), machine_(machine), scheduler_(scheduler), ends_(places.size()) {
  int nodes = 0;
  for (const Place& place : places) nodes = std::max(nodes, place.node + 1);
  const auto adapters = static_cast<std::size_t>(nodes) * static_cast<std::size_t>(machine.adapters);
  adapters_.reserve(adapters);
  for (std::size_t adapter = 0; adapter < adapters; ++adapter) adapters_.emplace_back(machine);
  connections_.resize(adapters);
}

// The ranks of a node are spread over its adapters, neighbours together.
Adapter& Network::adapter_of(int rank) {
  const auto each = static_cast<int>(machine_.adapters);
  const Place& place = places_[rank];
  return adapters_[static_cast<std::size_t>(place.node * each + place.number * each / largest_node_)];
}

void Network::connect(int rank, int peer) {
  End& end = ends_[rank];
  if (end.connected.empty()) end.connected.resize(places_.size());
  if (end.connected[peer]) return;
  end.connected[peer] = true;
  std::size_t& number = connections_[static_cast<std::size_t>(&adapter_of(rank) - adapters_.data())];
  if (static_cast<double>(++number) <= machine_.queue_pairs) return;
  scheduler_.fail("an adapter would need more than its " + std::to_string(static_cast<std::size_t>(machine_.queue_pairs)) + " queue pairs for reliable connections");
}

Time Network::work(const Message& message, Side side) const {
  const bool sends = side == Side::sender;
  if (same_node(message.from, message.to)) {
    return Machine::time(sends ? machine_.local_send : machine_.local_receive) + Machine::of_bytes(message.bytes, machine_.local_bandwidth);
  }
  Time work = Machine::time(sends ? machine_.send : machine_.receive);
  if (machine_.shared_by_processors > 0) work += Machine::of_bytes(message.bytes, machine_.processor_bandwidth);
  if (!message.announced) work += Machine::of_bytes(message.bytes, machine_.receive_bandwidth);
  if (machine_.kind() == Transport::datagram) {
    const double packets = std::max(1.0, std::ceil(static_cast<double>(message.bytes) / machine_.datagram));
    work += Machine::time(packets * machine_.datagram_work);
  }
  return work;
}

Message& Network::take(const Message& made, bool moved) {
  Message* message = nullptr;
  if (free_.empty()) {
    message = &all_.emplace_back();
  } else {
    message = free_.back();
    free_.pop_back();
  }
  const auto* const data = static_cast<const std::byte*>(made.data);
  std::vector<std::byte> copy = std::move(message->copy);
  *message = made;
  message->copy = std::move(copy);
  message->copy.clear();
  message->network = this;
  if (moved && !made.announced) message->copy.assign(data, data + made.bytes);
  ++messages_;
  const Time now = scheduler_.now();
  if (same_node(made.from, made.to)) {
    scheduler_.post(now + Machine::time(machine_.local_latency), *message);
    return *message;
  }
  if (machine_.kind() == Transport::reliable) {
    connect(made.from, made.to);
    connect(made.to, made.from);
  }
  End& end = ends_[made.from];
  const Time begins = std::max(now, end.sends_from);
  end.sends_from = begins + Machine::time(machine_.process_gap);
  const Time left = adapter_of(made.from).send({made.from, made.to}, made.announced ? kAnnouncement : made.bytes, begins);
  scheduler_.post(left + Machine::time(machine_.latency), *message);
  return *message;
}

void Network::fetch(Message& message, Time at) {
  message.stage = Message::Stage::being_fetched;
  scheduler_.post(at + Machine::time(machine_.latency), message);
}

// A message goes on to its next stage.
void Network::happens(Message& message, Time at) {
  switch (message.stage) {
    case Message::Stage::arriving: {
      const std::size_t bytes = message.announced ? kAnnouncement : message.bytes;
      const bool local = same_node(message.from, message.to);
      hand_over(message, ends_[message.to].mailbox, local ? at : adapter_of(message.to).receive({message.to, message.from}, bytes, at));
      return;
    }
    case Message::Stage::being_fetched: {
      const Time left = adapter_of(message.from).send({message.from, message.to}, message.bytes, at);
      message.stage = Message::Stage::fetched;
      scheduler_.post(left + Machine::time(machine_.latency), message);
      return;
    }
    case Message::Stage::fetched:
      hand_over(message, ends_[message.to].mailbox, adapter_of(message.to).receive({message.to, message.from}, message.bytes, at));
      return;
    case Message::Stage::acknowledged: hand_over(message, ends_[message.from].mailbox, at); return;
  }
}

void Network::hand_over(Message& message, Mailbox* to, Time at) {
  message.at = at;
  to->comes(message);
}

std::uint64_t Network::missed() const {
  std::uint64_t all = 0;
  for (const Adapter& adapter : adapters_) all += adapter.missed();
  return all;
}

}  // namespace crossrail::simulated_world
