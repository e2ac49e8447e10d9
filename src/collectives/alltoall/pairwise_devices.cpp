// What   A node's part of pairwise: a kernel writes the blocks for this node's ranks where they go, over the links between the devices,
//        while the others travel by way of memory of ours (MessageRoom): several blocks, or a piece of a long one, at a time; one is
//        brought there while the one before is sent and what came before that goes to the device.
// When   All ranks of the node have their blocks in device memory that they can map for each other. Other nodes need not know.
// Cost   The larger of what the network takes and what the links take + two kernel launches and copies of the first and the last
//        piece.
// Needs  Three times two pieces of memory. Not in place, no gaps.
// From   IPC paper, section III-B: messages between nodes are posted first, the exchange inside the node goes on meanwhile.

#include "collectives/alltoall/pairwise_devices.h"

#include <algorithm>

#include "collectives/alltoall/send_side.h"
#include "collectives/partners.h"

namespace crossrail::alltoall::pairwise {
namespace {

constexpr int kInFlight = 3;  // portions that have memory of their own

// What goes at a time: whole blocks of some steps, or a piece of the block of one.
struct Portion {
  int first, end;          // steps
  std::size_t from, bytes;  // of every block
};

struct Portions {
  int steps;
  std::size_t block, piece;
  std::size_t bytes() const { return std::min(piece, block * static_cast<std::size_t>(steps)); }  // most of one
  int steps_at_a_time() const { return static_cast<int>(std::max<std::size_t>(1, bytes() / block)); }
  int pieces() const { return static_cast<int>((block + piece - 1) / piece); }
  int count() const { return (steps + steps_at_a_time() - 1) / steps_at_a_time() * pieces(); }
  Portion operator[](int number) const {
    const int first = 1 + number / pieces() * steps_at_a_time();
    const std::size_t from = static_cast<std::size_t>(number % pieces()) * piece;
    return {first, std::min(first + steps_at_a_time(), steps + 1), from, std::min(piece, block - from)};
  }
};

class NodeOnDevices {
 public:
  NodeOnDevices(Plan& plan, const Buffers& buffers)
      : plan_(plan), topology_(*plan.topology), devices_(*plan.devices), buffers_(buffers),
        portions_{plan.group.size() - 1, plan.shape.block_bytes, plan.kept<std::size_t>()} {}

  Status run() {
    DeviceWork out, in, exchange;
    CROSSRAIL_TRY(begin_copies(0, Way::out, out));
    CROSSRAIL_TRY(begin_exchange(exchange));
    for (int number = 0; number <= portions_.count(); ++number) {
      const bool any = number < portions_.count();
      if (any) CROSSRAIL_TRY(devices_.queue().finish(out));
      if (any) CROSSRAIL_TRY(post(number));
      if (number + 1 < portions_.count()) CROSSRAIL_TRY(begin_copies(number + 1, Way::out, out));
      if (number == 0) continue;
      CROSSRAIL_TRY(wait_for_messages(number - 1));
      CROSSRAIL_TRY(begin_copies(number - 1, Way::in, in));
    }
    CROSSRAIL_TRY(devices_.queue().finish(in));
    CROSSRAIL_TRY(devices_.queue().finish(exchange));
    return plan_.links->wait_posted();  // nothing is left, but its record
  }

 private:
  enum class Way : std::uint8_t { out, in };

  bool on_other_node(int rank) const { return topology_.node_of[static_cast<std::size_t>(rank)] != topology_.node(); }
  // Of a portion's block in a step, in the room.
  std::size_t room_at(int number, int step, Way way) const {
    const Portion portion = portions_[number];
    const auto slot = static_cast<std::size_t>(2 * (number % kInFlight) + (way == Way::in ? 1 : 0));
    return slot * portions_.bytes() + static_cast<std::size_t>(step - portion.first) * portion.bytes;
  }

  // All that leave this node, to the room; all that have come, from there.
  Status begin_copies(int number, Way way, DeviceWork& work) {
    const Portion portion = portions_[number];
    auto& blocks = plan_.device_blocks.staged;
    std::fill(blocks.begin(), blocks.end(), crossrail_block{});
    for (int step = portion.first; step < portion.end; ++step) {
      const auto [to, from] = partners_of(plan_.group, step);
      const int peer = way == Way::out ? to : from;
      if (!on_other_node(peer)) continue;
      std::byte* const room = devices_.message_room().on_device() + room_at(number, step, way);
      const std::size_t at = static_cast<std::size_t>(peer) * portions_.block + portion.from;
      blocks[static_cast<std::size_t>(step - portion.first)] = way == Way::out ? crossrail_block{room, buffers_.send + at, portion.bytes}
                                                                               : crossrail_block{buffers_.recv + at, room, portion.bytes};
    }
    return devices_.queue().begin_copies(blocks, work);
  }

  // The blocks of this node's ranks, this one's first.
  Status begin_exchange(DeviceWork& work) {
    const Group& node = topology_.nodes[static_cast<std::size_t>(topology_.node())];
    const auto mine = static_cast<std::size_t>(topology_.rank);
    auto& blocks = plan_.device_blocks.exchanged;
    for (int step = 0; step < node.size(); ++step) {
      const int peer = (topology_.node_rank() + step) % node.size();
      std::byte* const to = step == 0 ? buffers_.recv + mine * portions_.block : devices_.block({peer, MappedSide::recv, mine, mine * portions_.block});
      blocks[static_cast<std::size_t>(step)] = {to, buffers_.send + static_cast<std::size_t>(node[peer]) * portions_.block, portions_.block};
    }
    return devices_.queue().begin_exchange(blocks, CROSSRAIL_ENGINE_KERNEL, work);
  }

  Status post(int number) {
    const Portion portion = portions_[number];
    Posted& posted = posted_[number % kInFlight];
    posted = {};
    std::byte* const room = devices_.message_room().memory();
    for (int step = portion.first; step < portion.end; ++step) {
      const int from = partners_of(plan_.group, step).from;
      if (!on_other_node(from)) continue;
      CROSSRAIL_TRY(plan_.receive(from, room + room_at(number, step, Way::in), portion.bytes));
      posted.note(plan_.links->last_posted());
    }
    for (int step = portion.first; step < portion.end; ++step) {
      const int to = partners_of(plan_.group, step).to;
      if (!on_other_node(to)) continue;
      CROSSRAIL_TRY(plan_.send(to, room + room_at(number, step, Way::out), portion.bytes));
      posted.note(plan_.links->last_posted());
    }
    return {};
  }
  Status wait_for_messages(int number) {
    const Posted& posted = posted_[number % kInFlight];
    for (Links::Request request = posted.first; posted.any && request <= posted.last; ++request) CROSSRAIL_TRY(plan_.links->wait_for(request));
    return {};
  }

  struct Posted {
    bool any = false;
    Links::Request first = 0, last = 0;
    void note(Links::Request request) {
      if (!any) first = request;
      last = request;
      any = true;
    }
  };

  Plan& plan_;
  const Topology& topology_;
  DeviceSharing& devices_;
  const Buffers& buffers_;
  Portions portions_;
  Posted posted_[kInFlight];
};

Status run_on_devices(Plan& plan, const Buffers& buffers) {
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  return NodeOnDevices(plan, buffers).run();
}

}  // namespace

void plan_on_devices(Plan& plan) {
  if (plan.devices == nullptr || plan.topology->one_node() || plan.shape.in_place || plan.shape.block_bytes == 0) return;
  const Portions portions{plan.group.size() - 1, plan.shape.block_bytes, plan.kept<std::size_t>()};
  plan.run_on_devices = run_on_devices;
  plan.mapped = plan.control->node_size() == 1 ? MappedSide::none : MappedSide::recv;
  plan.device_block_bytes = plan.shape.block_bytes;
  plan.device_needs.room = {2 * kInFlight * portions.bytes(), portions.bytes()};
  plan.device_needs.no_staging = true;
  plan.device_blocks.staged.resize(static_cast<std::size_t>(portions.steps_at_a_time()));
  plan.device_blocks.exchanged.resize(static_cast<std::size_t>(plan.control->node_size()));
}

}  // namespace crossrail::alltoall::pairwise
