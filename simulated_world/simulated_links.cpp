#include "simulated_world/simulated_links.h"

#include <algorithm>
#include <cstring>

namespace crossrail::simulated_world {
namespace {

constexpr std::size_t kEnded = SIZE_MAX;  // No further piece of such a block comes.

}  // namespace

// All ranks come to agree by exchanges with partners at doubled distances.
Time Common::agreement_time() const {
  int rounds = 0;
  while ((1 << rounds) < size) ++rounds;
  const bool one_node = node_sizes.size() == 1;
  const double round = one_node ? machine.local_send + machine.local_latency + machine.local_receive : machine.send + machine.latency + machine.receive;
  return rounds * Machine::time(round);
}

SimulatedLinks::SimulatedLinks(Common& common, const Place& place, int rank) : common_(common), place_(place), rank_(rank) {
  common.network.attach(rank, *this);
}

Status SimulatedLinks::post_send(int rank, const void* data, std::size_t bytes, Channel channel) {
  Message made;
  made.from = rank_;
  made.to = rank;
  made.queue = static_cast<std::size_t>(channel);
  made.data = data;
  made.bytes = bytes;
  made.announced = !common_.network.is_eager(made);
  made.sent_as = posted_.size();
  common_.scheduler.pass(common_.network.work(made, Network::Side::sender));
  common_.scheduler.catch_up();
  posted_.push_back({made.announced ? Posted::sent : Posted::done, rank, made.queue, nullptr, bytes, nullptr});
  (void)common_.network.take(made, common_.moves_data);
  return {};
}

Status SimulatedLinks::post_recv(int rank, void* data, std::size_t bytes, Channel channel) {
  return post_receive({Posted::receive, rank, static_cast<std::size_t>(channel), data, bytes, nullptr});
}

Status SimulatedLinks::post_recv_up_to(int rank, const UpTo& what, Channel channel) {
  const bool ended = std::any_of(posted_.begin(), posted_.end(), [&](const Posted& before) { return before.came == &what.came && before.bytes == kEnded; });
  return post_receive({ended ? Posted::done : Posted::receive, rank, static_cast<std::size_t>(channel), what.data, ended ? kEnded : what.bytes, &what.came});
}

Status SimulatedLinks::post_receive(const Posted& made) {
  const std::size_t request = posted_.size();
  posted_.push_back(made);
  if (made.kind == Posted::done) return {};
  for (std::size_t at = 0; at < unexpected_.size(); ++at) {
    Message& message = *unexpected_[at];
    if (message.from != made.peer || message.queue != made.queue) continue;
    common_.scheduler.pass(Machine::time(common_.machine.match * static_cast<double>(at + 1)));
    unexpected_.erase(unexpected_.begin() + static_cast<std::ptrdiff_t>(at));
    match(message, request);
    return {};
  }
  common_.scheduler.pass(Machine::time(common_.machine.match * static_cast<double>(unexpected_.size())));
  open_receives_.push_back(request);
  return {};
}

void SimulatedLinks::give_up(const std::size_t& came) { end_pieces(&came); }

void SimulatedLinks::end_pieces(const std::size_t* came) {
  for (std::size_t request = 0; request < posted_.size(); ++request) {
    Posted& one = posted_[request];
    if (one.came != came) continue;
    std::erase(open_receives_, request);
    if (one.kind == Posted::receive) finish(request);
    one.bytes = kEnded;
  }
}

// A message has come to this rank, whose fiber does not run. If the rank waits, it attends to the message at once.
void SimulatedLinks::comes(Message& message) {
  if (!common_.scheduler.waits(rank_)) {
    come_.push_back(&message);
    return;
  }
  attend_to_all();
  attend(message);
  if (common_.scheduler.awaits_messages(rank_) && left_ == 0) common_.scheduler.wake(rank_);
}

void SimulatedLinks::attend_to_all() {
  while (!come_.empty()) {
    Message& message = *come_.front();
    come_.pop_front();
    attend(message);
  }
}

void SimulatedLinks::attend(Message& message) {
  clock() = std::max(clock(), message.at);
  switch (message.stage) {
    case Message::Stage::arriving: {
      for (std::size_t at = 0; at < open_receives_.size(); ++at) {
        const std::size_t request = open_receives_[at];
        if (posted_[request].peer != message.from || posted_[request].queue != message.queue) continue;
        clock() += Machine::time(common_.machine.match * static_cast<double>(at + 1));
        open_receives_.erase(open_receives_.begin() + static_cast<std::ptrdiff_t>(at));
        match(message, request);
        return;
      }
      clock() += Machine::time(common_.machine.match * static_cast<double>(open_receives_.size()));
      unexpected_.push_back(&message);
      return;
    }
    case Message::Stage::fetched: {
      deliver(message, message.received_as);
      message.stage = Message::Stage::acknowledged;
      const bool local = common_.network.same_node(message.from, message.to);
      common_.scheduler.post(clock() + Machine::time(local ? common_.machine.local_latency : common_.machine.latency), message);
      return;
    }
    case Message::Stage::acknowledged:
      clock() += Machine::time(common_.machine.handshake);
      finish(message.sent_as);
      common_.network.release(message);
      return;
    case Message::Stage::being_fetched: return;
  }
}

// A message and a receive have found each other.
void SimulatedLinks::match(Message& message, std::size_t request) {
  message.received_as = request;
  if (!message.announced) {
    deliver(message, request);
    common_.network.release(message);
    return;
  }
  clock() += Machine::time(common_.machine.handshake);
  common_.network.fetch(message, clock());
}

void SimulatedLinks::deliver(Message& message, std::size_t request) {
  Posted& one = posted_[request];
  clock() += common_.network.work(message, Network::Side::receiver);
  const bool shorter = message.bytes < one.bytes;
  if (message.bytes > one.bytes || (shorter && one.came == nullptr)) common_.scheduler.note_failure("a message has another size than its receive");
  if (common_.moves_data && message.bytes > 0) std::memcpy(one.data, message.announced ? message.data : message.copy.data(), message.bytes);
  one.bytes = message.bytes;
  if (one.came != nullptr) *one.came += message.bytes;
  finish(request);
  if (one.came != nullptr && shorter) end_pieces(one.came);
}

void SimulatedLinks::finish(std::size_t request) {
  Posted& one = posted_[request];
  if (one.kind == Posted::done) return;
  one.kind = Posted::done;
  if (request >= first_awaited_ && request < end_awaited_) --left_;
}

Status SimulatedLinks::wait_until_done(Request first, Request end) {
  attend_to_all();
  first_awaited_ = first;
  end_awaited_ = end;
  left_ = 0;
  for (Request request = first; request < end; ++request) left_ += posted_[request].kind != Posted::done ? 1 : 0;
  if (left_ > 0) common_.scheduler.await_messages();
  end_awaited_ = first_awaited_ = 0;
  return {};
}

Status SimulatedLinks::wait_posted() {
  const Status status = wait_until_done(0, posted_.size());
  posted_.clear();
  open_receives_.clear();
  return status;
}

void SimulatedLinks::cancel_posted() {
  posted_.clear();
  open_receives_.clear();
}

Status SimulatedLinks::share(std::size_t bytes, NodeMemory& memory) {
  if (memory.bytes >= bytes) return {};
  Common::NodeShare& node = common_.node_memory[static_cast<std::size_t>(place_.node)];
  const int members = common_.node_sizes[static_cast<std::size_t>(place_.node)];
  const bool last = static_cast<int>(node.meeting.here.size()) + 1 == members;  // Nobody uses the old memory any more.
  if (last && node.memory.bytes() < bytes) node.memory = ReservedMemory(bytes);
  common_.scheduler.meet(node.meeting, members, Machine::time(common_.machine.other_core));
  if (node.memory.data() == nullptr) return failed(Code::no_memory, "there is no memory for a simulated node");
  memory = {node.memory.data(), bytes, 0};
  return {};
}

Status SimulatedLinks::agree_on_largest(std::uint32_t mine, std::uint32_t& largest) {
  common_.largest = std::max(common_.largest, mine);
  if (static_cast<int>(common_.agreement.here.size()) + 1 == common_.size) {
    common_.agreed = common_.largest;
    common_.largest = 0;
  }
  common_.scheduler.meet(common_.agreement, common_.size, common_.agreement_time());
  largest = common_.agreed;
  return {};
}

// Ranks of a simulated world do not read each other's memory (Topology::single_copy).
Status SimulatedLinks::export_range(const void* data, std::size_t, std::uint64_t& address) {
  address = reinterpret_cast<std::uint64_t>(data);
  return {};
}

Status SimulatedLinks::read_peer(int, void*, std::uint64_t, std::size_t) { return failed(Code::unsupported, "simulated ranks do not read each other's memory"); }
Status SimulatedLinks::write_peer(int, const void*, std::uint64_t, std::size_t) { return failed(Code::unsupported, "simulated ranks do not write each other's memory"); }

}  // namespace crossrail::simulated_world
