#include "collectives/pairwise_devices.h"

#include <algorithm>

#include "base/bytes.h"
#include "collectives/partners.h"

namespace crossrail {
namespace {

constexpr int kInFlight = 3;  // So many portions have memory of their own.

enum class Direction : std::uint8_t { out, in };

// A Portion is what moves at a time: whole blocks of some steps, or a piece of the longer blocks of one
// step. Ranks may divide their steps differently. That cannot deadlock: a rank waits only for a step
// that its partner has reached or will reach, because no rank waits for a later step than it has posted.
struct Portion {
  int first = 1, end = 1;  // They count steps.
  std::size_t from = 0;    // It is the offset in every block.
  bool empty() const { return first == end; }
};

class NodeOnDevices {
 public:
  NodeOnDevices(Plan& plan, const Buffers& buffers, const PairwisePieces& pieces)
      : plan_(plan), topology_(*plan.topology), devices_(*plan.devices), buffers_(buffers), pieces_(pieces) {
    if (pieces.came != nullptr) std::fill(pieces.came->begin(), pieces.came->end(), 0);
  }

  Status run() {
    DeviceWork out, in, exchange;
    portion(0) = next();
    CROSSRAIL_TRY(begin_copies(0, Direction::out, out));
    CROSSRAIL_TRY(begin_exchange(exchange));
    for (int number = 0; number == 0 || !portion(number - 1).empty(); ++number) {
      if (!portion(number).empty()) {
        CROSSRAIL_TRY(devices_.queue().finish(out));
        CROSSRAIL_TRY(post(number));
        portion(number + 1) = next();
        CROSSRAIL_TRY(begin_copies(number + 1, Direction::out, out));
      }
      if (number == 0) continue;
      CROSSRAIL_TRY(wait_for_messages(number - 1));
      CROSSRAIL_TRY(begin_copies(number - 1, Direction::in, in));
    }
    CROSSRAIL_TRY(devices_.queue().finish(in));
    CROSSRAIL_TRY(devices_.queue().finish(exchange));
    return plan_.links->wait_posted();  // Nothing is left to wait for except the record of the messages.
  }

 private:
  bool on_other_node(int rank) const { return topology_.node_of[static_cast<std::size_t>(rank)] != topology_.node(); }
  Portion& portion(int number) { return portions_[number % kInFlight]; }

  // Returns the other rank of a step, or -1 if it is on this node.
  int peer_of(int step, Direction way) const {
    const auto [to, from] = partners_of(plan_.group, step);
    const int peer = way == Direction::out ? to : from;
    return on_other_node(peer) ? peer : -1;
  }
  std::size_t block_bytes(int step, Direction way) const {
    const int peer = peer_of(step, way);
    return peer < 0 ? 0 : (way == Direction::out ? buffers_.out : buffers_.in)[peer].bytes;
  }
  // Returns whether a block has a piece that begins there. If blocks may be
  // shorter, the last piece may be empty and marks the end (alltoallv/messages.h).
  bool has_piece(std::size_t block, std::size_t from) const { return block > 0 && (may_be_shorter() ? from <= block : from < block); }
  bool is_in(const Portion& portion, int step, Direction way) const { return has_piece(block_bytes(step, way), portion.from); }
  std::size_t bytes_of(const Portion& portion, int step, Direction way) const { return std::min(pieces_.piece, block_bytes(step, way) - portion.from); }
  bool may_be_shorter() const { return pieces_.came != nullptr; }
  std::size_t& came_from(int peer) const { return (*pieces_.came)[static_cast<std::size_t>(peer)]; }
  // Returns how much of the piece has arrived.
  std::size_t came_of(const Portion& portion, int step) const {
    const std::size_t bytes = bytes_of(portion, step, Direction::in);
    if (!may_be_shorter()) return bytes;
    const std::size_t came = came_from(peer_of(step, Direction::in));
    return std::min(bytes, came - std::min(came, portion.from));
  }

  Portion next() {
    const int steps = plan_.group.size();
    const auto longest = [&](int step) { return std::max(block_bytes(step, Direction::out), block_bytes(step, Direction::in)); };
    while (step_ < steps && !has_piece(longest(step_), from_)) {
      ++step_;
      from_ = 0;
    }
    Portion made{step_, step_, from_};
    if (step_ == steps) return made;
    if (longest(step_) >= pieces_.piece) {
      from_ += pieces_.piece;
      return {step_, step_ + 1, made.from};
    }
    for (std::size_t out = 0, in = 0; made.end < steps; ++made.end) {
      out += round_up(block_bytes(made.end, Direction::out), PairwisePieces::kUnit);
      in += round_up(block_bytes(made.end, Direction::in), PairwisePieces::kUnit);
      if (std::max(out, in) > pieces_.at_a_time || longest(made.end) >= pieces_.piece) break;
    }
    step_ = made.end;
    return made;
  }

  // Calls do(step, peer, bytes, place in the room) for everything that goes one way.
  template <class Do>
  Status each(int number, Direction way, Do one) {
    const Portion& its = portion(number);
    std::size_t at = static_cast<std::size_t>(2 * (number % kInFlight) + (way == Direction::in ? 1 : 0)) * pieces_.at_a_time;
    for (int step = its.first; step < its.end; ++step) {
      if (!is_in(its, step, way)) continue;
      const std::size_t bytes = bytes_of(its, step, way);
      CROSSRAIL_TRY(one(step, peer_of(step, way), bytes, at));
      at += round_up(bytes, PairwisePieces::kUnit);
    }
    return {};
  }

  // Copies everything that leaves this node to the room, or everything that has arrived from it.
  Status begin_copies(int number, Direction way, DeviceWork& work) {
    const Portion& its = portion(number);
    if (its.empty()) return {};
    auto& blocks = plan_.device_blocks.staged;
    std::fill(blocks.begin(), blocks.end(), crossrail_block{});
    std::byte* const room = devices_.message_room().on_device();
    std::size_t next = 0;
    CROSSRAIL_TRY(each(number, way, [&](int step, int peer, std::size_t bytes, std::size_t at) -> Status {
      crossrail_block& block = blocks[next++];
      if (way == Direction::out) block = {room + at, moved(const_cast<std::byte*>(buffers_.send), buffers_.out[peer].offset) + its.from, bytes};
      else block = {moved(buffers_.recv, buffers_.in[peer].offset) + its.from, room + at, came_of(its, step)};
      return {};
    }));
    return devices_.queue().begin_copies(blocks, work);
  }

  // Returns where this rank's block lies at another rank of the node.
  std::byte* received_by(int peer) const {
    // Equal blocks have the same place on all ranks.
    const auto mine = static_cast<std::size_t>(topology_.rank);
    if (!may_be_shorter()) return devices_.block({peer, MappedSide::recv, mine, static_cast<std::size_t>(buffers_.in[mine].offset)});
    return devices_.receives_at(peer, topology_.node_rank(), 0);
  }

  // Moves the blocks of this node's ranks, this rank's own first.
  Status begin_exchange(DeviceWork& work) {
    const Group& node = topology_.node_ranks();
    auto& blocks = plan_.device_blocks.exchanged;
    for (int step = 0; step < node.size(); ++step) {
      const int peer = (node.index() + step) % node.size();
      const Block& sent = buffers_.out[node[peer]];
      crossrail_block& block = blocks[static_cast<std::size_t>(step)];
      block = {nullptr, moved(const_cast<std::byte*>(buffers_.send), sent.offset), sent.bytes};
      if (sent.bytes == 0) continue;
      block.to = step == 0 ? moved(buffers_.recv, buffers_.in[node[peer]].offset) : received_by(peer);
    }
    return devices_.queue().begin_exchange(blocks, CROSSRAIL_ENGINE_KERNEL, work);
  }

  Status post(int number) {
    Posted& posted = posted_[number % kInFlight];
    posted = {};
    std::byte* const room = devices_.message_room().memory();
    const Status received = each(number, Direction::in, [&](int step, int peer, std::size_t bytes, std::size_t at) -> Status {
      if (step == ended_) return {};
      if (may_be_shorter()) CROSSRAIL_TRY(plan_.receive_up_to(plan_.group[peer], {room + at, bytes, came_from(peer), bytes == pieces_.piece}));
      else CROSSRAIL_TRY(plan_.receive(plan_.group[peer], room + at, bytes));
      return posted.note(plan_.links->last_posted());
    });
    CROSSRAIL_TRY(received);
    return each(number, Direction::out, [&](int, int peer, std::size_t bytes, std::size_t at) -> Status {
      CROSSRAIL_TRY(plan_.send(plan_.group[peer], room + at, bytes));
      return posted.note(plan_.links->last_posted());
    });
  }
  Status wait_for_messages(int number) {
    const Posted& posted = posted_[number % kInFlight];
    for (Links::Request request = posted.first; posted.any && request <= posted.last; ++request) CROSSRAIL_TRY(plan_.links->wait_for(request));
    return each(number, Direction::in, [&](int step, int, std::size_t bytes, std::size_t) -> Status {
      if (came_of(portion(number), step) < bytes) ended_ = step;
      return {};
    });
  }

  struct Posted {
    bool any = false;
    Links::Request first = 0, last = 0;
    Status note(Links::Request request) {
      if (!any) first = request;
      last = request;
      any = true;
      return {};
    }
  };

  Plan& plan_;
  const Topology& topology_;
  DeviceSharing& devices_;
  const Buffers& buffers_;
  const PairwisePieces& pieces_;
  int ended_ = 0;  // It is the last step whose block was shorter than expected, so that no further piece of it comes.
  int step_ = 1;          // The next portion begins here.
  std::size_t from_ = 0;  // It is the offset in its blocks.
  Portion portions_[kInFlight];
  Posted posted_[kInFlight];
};

}  // namespace

Status run_pairwise_on_devices(Plan& plan, const Buffers& buffers, const PairwisePieces& pieces) { return NodeOnDevices(plan, buffers, pieces).run(); }

void plan_pairwise_on_devices(Plan& plan, const PairwisePieces& pieces, Status (*run)(Plan&, const Buffers&)) {
  if (plan.devices == nullptr || plan.topology->one_node() || plan.shape.in_place) return;
  plan.run_on_devices = run;
  plan.mapped = plan.control->node_size() == 1 ? MappedSide::none : MappedSide::recv;
  plan.device_needs.room = {2 * kInFlight * pieces.at_a_time, pieces.at_a_time};
  plan.device_needs.no_staging = true;
  plan.device_blocks.staged.resize(pieces.most_blocks);
  plan.device_blocks.exchanged.resize(static_cast<std::size_t>(plan.control->node_size()));
}

}  // namespace crossrail
