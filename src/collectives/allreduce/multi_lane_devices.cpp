// What   A node's part of multi_lane: a kernel reads this rank's share of all ranks' elements where they lie and leaves the result in memory of ours
//        (MessageRoom), the lane combines it across the nodes, and another kernel reads it there once and writes it to all ranks. The kernel of one
//        part works while the lane has the part before. If two nodes exchange whole shares, the second kernel combines them, and two parts are on the
//        network at a time.
// When   All ranks of the node have their elements in device memory. Other nodes need not know.
// Cost   In the node: two kernel launches a part; m/l bytes, l lanes, from the device and back, beside the network.
// Needs  Six times a part of memory, on the host where processors combine in the lane. Elements with gaps, or that peers cannot map, go through
//        device memory of ours, and parts then one after the other. No long double.
// From   Multi-rail poster: the network's part of a chunk begins the moment it is reduced ("early-triggered pipelining").

#include <algorithm>

#include "collectives/allreduce/lanes.h"
#include "collectives/allreduce_device/combined.h"

namespace crossrail::allreduce::multi_lane {
namespace {

struct Part {
  std::size_t number, first, count;  // The number counts the parts of the call; the others count elements.
};
constexpr std::size_t kRooms = 3;  // Several parts are under way at a time, going out and coming in.

std::size_t largest_part(const Plan& plan) { return std::min(plan.chunk_bytes, plan.shape.block_bytes) / bytes_of(plan.shape.reduction.element); }

// Returns whether two nodes exchange whole shares, so that a kernel combines them and no processor does.
bool pairs(const Plan& plan, std::size_t largest_share) { return plan.topology->lane.size() == 2 && in_lane(plan, largest_share) == InLane::whole; }

class NodeOnDevices {
 public:
  NodeOnDevices(Plan& plan, const Buffers& buffers)
      : plan_(plan), buffers_(buffers), devices_(*plan.devices), rank_(plan.control->node_rank()), ranks_(plan.control->node_size()),
        element_bytes_(bytes_of(plan.shape.reduction.element)) {
    const Part largest{0, 0, largest_part(plan)};
    paired_ = pairs(plan, share(largest).count);
  }

  // Some rank's elements go through device memory of ours, one part at a time.
  Status run_staged() {
    return each_part([&](const Part& part) -> Status {
      DeviceWork work;
      CROSSRAIL_TRY(stage_in(plan_, buffers_, round_of(part), work));
      if (devices_.staged(MappedSide::send)) CROSSRAIL_TRY(devices_.queue().finish(work));
      CROSSRAIL_TRY(plan_.control->barrier());
      CROSSRAIL_TRY(begin_reduce(part));
      CROSSRAIL_TRY(post(part));
      CROSSRAIL_TRY(cross(part));
      CROSSRAIL_TRY(devices_.queue().finish(spread_));
      return stage_out(plan_, buffers_, round_of(part));
    });
  }

  Status run_mapped() {
    Part before{};  // The network has it.
    bool any = false;
    const Status done = each_part([&](const Part& part) -> Status {
      CROSSRAIL_TRY(begin_reduce(part));
      if (any) CROSSRAIL_TRY(post(before));
      if (any && before.number > 0) CROSSRAIL_TRY(cross(part_before(before)));
      before = part;
      any = true;
      return {};
    });
    CROSSRAIL_TRY(done);
    CROSSRAIL_TRY(post(before));
    if (before.number > 0) CROSSRAIL_TRY(cross(part_before(before)));
    CROSSRAIL_TRY(cross(before));
    return devices_.queue().finish(spread_);  // It is the last one.
  }

 private:
  template <class Work>
  Status each_part(Work work) {
    const std::size_t all = plan_.shape.block_bytes / element_bytes_, most = plan_.chunk_bytes / element_bytes_;
    for (std::size_t number = 0; number * most < all; ++number) {
      CROSSRAIL_TRY(work(Part{number, number * most, std::min(most, all - number * most)}));
    }
    return {};
  }
  // The elements count as one block.
  DeviceRound round_of(const Part& part) const {
    const std::size_t all = plan_.shape.block_bytes;
    return {part.first * element_bytes_, part.count * element_bytes_, all, all};
  }
  Stretch share(const Part& part) const { return shares_of(plan_, part.count).of(rank_); }
  // All parts except the last one have the same length.
  Part part_before(const Part& part) const {
    const std::size_t most = plan_.chunk_bytes / element_bytes_;
    return {part.number - 1, part.first - most, most};
  }
  std::size_t room_at(const Part& part) const { return part.number % kRooms * 2 * plan_.kept<Lanes>().stride; }
  std::size_t arrived_at(const Part& part) const { return room_at(part) + plan_.kept<Lanes>().stride; }

  // Returns where this rank's share of a part lies at `peer`.
  std::byte* row(MappedSide side, int peer, const Part& part) const {
    const std::size_t first = part.first * element_bytes_, mine = share(part).first * element_bytes_;
    if (peer != rank_) return devices_.block({peer, side, 0, first}) + mine;
    if (devices_.staged(side)) return devices_.staging(side) + mine;
    return (side == MappedSide::send ? const_cast<std::byte*>(buffers_.send) : buffers_.recv) + first + mine;
  }

  // The kernel writes to the room, which an earlier part has left before in the order of the queue.
  Status begin_reduce(const Part& part) {
    const Stretch mine = share(part);
    if (mine.count == 0) return {};
    const void* from[CROSSRAIL_MOST_OPERANDS];
    for (int peer = 0; peer < ranks_; ++peer) from[peer] = row(MappedSide::send, peer, part);
    void* const to[] = {devices_.message_room().on_device() + room_at(part)};
    return devices_.queue().begin_combination(combination(mine, {from, ranks_}, {to, 1}), reduced_[part.number % kRooms], Launch::own);
  }
  // Sends a part that has been reduced. The room for what arrives is free, because the queue has finished later work than the part that was there.
  Status post(const Part& part) {
    const Stretch mine = share(part);
    if (mine.count == 0) return {};
    CROSSRAIL_TRY(devices_.queue().finish(reduced_[part.number % kRooms]));
    if (!paired_) return {};
    const Group& lane = plan_.topology->lane;
    const int other = lane[1 - lane.index()];
    std::byte* const room = devices_.message_room().memory();
    Messages& posted = posted_[part.number % kRooms];
    CROSSRAIL_TRY(plan_.receive(other, room + arrived_at(part), mine.count * element_bytes_));
    posted.received = plan_.links->last_posted();
    CROSSRAIL_TRY(plan_.send(other, room + room_at(part), mine.count * element_bytes_));
    posted.sent = plan_.links->last_posted();
    return {};
  }
  Status await_lane(const Part& part, const Stretch& mine) {
    std::byte* const result = devices_.message_room().memory() + room_at(part);
    if (!paired_) return across_nodes(plan_, {result, result, mine.count});
    const Messages& posted = posted_[part.number % kRooms];
    CROSSRAIL_TRY(plan_.links->wait_for(posted.received));
    return plan_.links->wait_for(posted.sent);
  }
  // Combines a part across the nodes and spreads it to all ranks of this one.
  Status cross(const Part& part) {
    const Stretch mine = share(part);
    if (mine.count > 0) CROSSRAIL_TRY(await_lane(part, mine));
    // Elements are combined in the order of the nodes.
    const std::byte* const room = devices_.message_room().on_device();
    const bool first = plan_.topology->lane.index() == 0;
    const void* const from[] = {room + (first || !paired_ ? room_at(part) : arrived_at(part)), room + (first ? arrived_at(part) : room_at(part))};
    void* to[CROSSRAIL_MOST_OPERANDS];
    for (int step = 0; step < ranks_; ++step) to[step] = row(MappedSide::recv, (rank_ + step) % ranks_, part);
    return devices_.queue().begin_combination(combination(mine, {from, paired_ ? 2 : 1}, {to, ranks_}), spread_, Launch::every_rank);
  }

  template <class Row>
  struct Rows {
    Row* all;
    int count;
  };
  crossrail_combination combination(const Stretch& mine, Rows<const void* const> from, Rows<void* const> to) const {
    crossrail_combination asked{};
    asked.reduction = allreduce_device::reduction_of(plan_);
    asked.from = from.all;
    asked.from_count = from.count;
    asked.to = to.all;
    asked.to_count = to.count;
    asked.turn = rank_;
    asked.bytes = mine.count * element_bytes_;
    return asked;
  }

  Plan& plan_;
  const Buffers& buffers_;
  DeviceSharing& devices_;
  int rank_, ranks_;
  std::size_t element_bytes_;
  DeviceWork reduced_[kRooms], spread_;
  struct Messages {
    Links::Request received, sent;
  };
  Messages posted_[kRooms] = {};
  bool paired_;  // Two nodes exchange whole shares, and the kernel that spreads them also combines them.
};

Status run_on_devices(Plan& plan, const Buffers& buffers) {
  DeviceSharing& devices = *plan.devices;
  const bool staged = devices.any_staged(MappedSide::send) || devices.any_staged(MappedSide::recv);
  if (staged && devices.chunk() * static_cast<std::size_t>(plan.control->node_size()) < plan.chunk_bytes) {
    return failed(Code::unsupported, "no room to stage a part of the elements");
  }
  CROSSRAIL_TRY(devices.map_peers(plan.mapped));
  NodeOnDevices node(plan, buffers);
  CROSSRAIL_TRY(staged ? node.run_staged() : node.run_mapped());
  return plan.links->wait_posted();  // Nothing is left to wait for except the record of the messages.
}

}  // namespace

void plan_on_devices(Plan& plan) {
  if (plan.devices == nullptr || plan.control->node_size() > CROSSRAIL_MOST_OPERANDS || !allreduce_device::known_to_devices(plan.shape.reduction)) return;
  const auto ranks = static_cast<std::size_t>(plan.control->node_size());
  constexpr std::size_t kStagedUnit = 256;
  plan.run_on_devices = run_on_devices;
  plan.mapped = ranks == 1 ? MappedSide::none : MappedSide::both;
  plan.device_block_bytes = round_up((plan.chunk_bytes + ranks - 1) / ranks, kStagedUnit);
  const bool by_processors = !pairs(plan, shares_of(plan, largest_part(plan)).of(plan.control->node_rank()).count);
  const std::size_t stride = plan.kept<Lanes>().stride;
  plan.device_needs = {{2 * kRooms * stride, stride, by_processors}, allreduce_device::reduction_of(plan)};
  plan.device_blocks.staged.resize(1);
}

}  // namespace crossrail::allreduce::multi_lane
