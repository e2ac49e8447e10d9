#include "shared_device/allreduce.h"

#include <algorithm>
#include <bit>

#include "collectives/allreduce/messages.h"
#include "collectives/allreduce/node_part.h"
#include "collectives/allreduce_device/combined.h"

namespace crossrail::shared_device {
namespace {

using allreduce::Shares;
using allreduce::Stretch;

// Shares below this size go whole, in fewer messages, and not halved or round a ring.
constexpr std::size_t kFewBytes = 8 * 1024;

// This is a part of everybody's share.
struct Part {
  std::size_t number = 0;
  std::uint64_t epoch = 0;
  DeviceWork fetched;  // It fetches the elements to the rooms.
};

class Allreduce {
 public:
  Allreduce(SharedDevice& device, const Buffer& buffer, const Elements& elements, bool lanes)
      : device_(device), buffer_(buffer), elements_(elements), lanes_(lanes), bytes_(bytes_of(elements.reduction.element)),
        rank_(device.topology().node_rank()), launched_(device.queue().launched()), own_({device.members().node_leader(device.members().device())}),
        operands_(lanes ? device.members().leaders() : own_), combinations_(launched_.size()) {}

  Status run() {
    if (lanes_ || device_.each_launches()) CROSSRAIL_TRY(device_.control().barrier());  // After it the leaders' elements are there.
    if (lanes_ && device_.topology().one_node()) return straight();
    const int sharers = lanes_ ? device_.topology().smallest_node() : device_.members().fewest_processes();
    shares_ = {elements_.count, std::max<std::size_t>(1, device_.least_share_bytes() / bytes_), sharers};
    most_ = device_.room_bytes() / bytes_;
    const std::size_t parts = (shares_.of(0).count + most_ - 1) / most_;  // Nobody has more.
    Part before;
    for (std::size_t number = 0; number < parts; ++number) {
      Part part{number, device_.control().next_epoch(), {}};
      CROSSRAIL_TRY(fetch(part));
      if (number > 0) CROSSRAIL_TRY(across(before));
      before = part;
    }
    CROSSRAIL_TRY(across(before));
    // If this rank's leader has the results from one launcher, those of other devices do not matter.
    return lanes_ || device_.each_launches() ? device_.queue().finish(given_) : device_.queue().finish_launched(given_);
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  // Returns where elements from `first` on lie with a leader.
  std::byte* with(int leader, std::size_t first) const { return device_.memory_of(buffer_, leader) + elements_.offset + first * bytes_; }

  // Combines in one node, with a share for every process that launches.
  Status straight() {
    std::vector<int> launchers;
    for (int rank = 0; rank < device_.control().node_size(); ++rank) {
      if (device_.each_launches() || device_.members().leader_of()[at(rank)] == rank) launchers.push_back(rank);
    }
    shares_ = {elements_.count, std::max<std::size_t>(1, SharedDevice::kGrainBytes / bytes_), static_cast<int>(launchers.size())};
    DeviceWork work;
    if (!launched_.empty()) {
      const auto number = std::find(launchers.begin(), launchers.end(), rank_) - launchers.begin();
      const Stretch share = shares_.of(static_cast<int>(number));
      const allreduce_device::Share rows = add(share, operands_.size(), operands_.size());
      for (std::size_t i = 0; i < operands_.size(); ++i) rows.from[i] = rows.to[i] = with(operands_[i], share.first);
    }
    CROSSRAIL_TRY(device_.queue().begin_combinations(combinations_.all(), work, Launch::one_a_device));
    return device_.queue().finish(work);
  }

  // Returns a rank's piece of a part.
  Stretch piece(int node_rank, const Part& part) const {
    const Stretch share = shares_.of(lanes_ ? node_rank : device_.members().place_of(node_rank));
    const std::size_t done = std::min(part.number * most_, share.count);
    return {share.first + done, std::min(most_, share.count - done)};
  }
  static std::size_t room_of(const Part& part) { return part.number % 2; }

  // Moves elements from the device to the rooms of all for whom this rank launches. The device is done with what an earlier part has left
  // there.
  Status fetch(Part& part) { return lanes_ ? combine_into_rooms(part) : copy(part, Way::to_rooms, part.fetched); }

  Status across(const Part& part) {
    const Stretch mine = piece(rank_, part);
    CROSSRAIL_TRY(device_.queue().finish_launched(part.fetched));
    if (mine.count > 0) CROSSRAIL_TRY(combine_by_messages(device_.room(room_of(part)), mine.count));
    CROSSRAIL_TRY(device_.rooms_are_filled(part.epoch));
    return lanes_ ? spread_from_rooms(part) : copy(part, Way::from_rooms, given_);
  }

  Status combine_by_messages(std::byte* room, std::size_t count) {
    Plan& plan = device_.plan();
    const Group& group = lanes_ ? device_.topology().lane : device_.members().same_place();
    const allreduce::Combiner by{combine_of(elements_.reduction), bytes_, device_.topology().rank_order};
    const allreduce::Exchange exchange{plan, group, by, plan.scratch()};
    const allreduce::Elements all{room, room, count};
    if (count * bytes_ < kFewBytes) return allreduce::recursive_doubling::reduce(exchange, all);
    return std::has_single_bit(static_cast<unsigned>(group.size())) ? allreduce::rabenseifner::reduce(exchange, all) : allreduce::ring::reduce(exchange, all);
  }

  enum class Way : std::uint8_t { to_rooms, from_rooms };
  Status copy(const Part& part, Way way, DeviceWork& work) {
    blocks_.clear();
    for (const int rank : launched_) {
      const Stretch its = piece(rank, part);
      std::byte* const room = device_.room_on_device(rank, room_of(part));
      std::byte* const memory = with(own_.front(), its.first);
      const bool out = way == Way::to_rooms;
      blocks_.push_back({out ? room : memory, out ? memory : room, its.count * bytes_});
    }
    return device_.begin_copies(blocks_, work);
  }

  Status combine_into_rooms(Part& part) {
    combinations_.clear();
    for (const int rank : launched_) {
      const Stretch its = piece(rank, part);
      const allreduce_device::Share rows = add(its, operands_.size(), 1);
      for (std::size_t i = 0; i < operands_.size(); ++i) rows.from[i] = with(operands_[i], its.first);
      rows.to[0] = device_.room_on_device(rank, room_of(part));
    }
    return device_.queue().begin_combinations(combinations_.all(), part.fetched, Launch::one_a_device);
  }
  Status spread_from_rooms(const Part& part) {
    combinations_.clear();
    for (const int rank : launched_) {
      const Stretch its = piece(rank, part);
      const allreduce_device::Share rows = add(its, 1, operands_.size());
      rows.from[0] = device_.room_on_device(rank, room_of(part));
      for (std::size_t i = 0; i < operands_.size(); ++i) rows.to[i] = with(operands_[i], its.first);
    }
    return device_.queue().begin_combinations(combinations_.all(), given_, Launch::one_a_device);
  }

  // Adds rows to read and to write, in these numbers, of one stretch. The caller fills them in.
  allreduce_device::Share add(const Stretch& elements, std::size_t from, std::size_t to) {
    return combinations_.add(device_.plan(), {static_cast<int>(from), static_cast<int>(to)}, elements.count * bytes_);
  }

  SharedDevice& device_;
  const Buffer& buffer_;
  const Elements& elements_;
  bool lanes_;
  std::size_t bytes_;  // It is the size of an element.
  int rank_;           // It is the rank in the node.
  const std::vector<int>& launched_;
  std::vector<int> own_;              // It holds this rank's leader.
  const std::vector<int>& operands_;  // They are the leaders whose elements this rank's node, or device, combines.
  Shares shares_{};
  std::size_t most_ = 0;  // A part has at most this many elements.
  DeviceWork given_;      // It brings the part before back from the rooms.
  std::vector<crossrail_block> blocks_;
  allreduce_device::Shares combinations_;  // They are those of a step.
};

// The result is the same on all ranks, as MPI obliges them to give the same arguments.
Status check(const SharedDevice& device, const Buffer& buffer, const Elements& elements) {
  const std::size_t bytes = bytes_of(elements.reduction.element);
  if (!is_defined(elements.reduction)) return failed(Code::invalid, "an operation that is not MPI's own, or not defined for such elements");
  if (elements.offset > buffer.bytes || elements.count > (buffer.bytes - elements.offset) / bytes) {
    return failure(Code::invalid, "%zu elements of %zu bytes from byte %zu on do not lie in a buffer of %zu bytes", elements.count, bytes,
                   elements.offset, buffer.bytes);
  }
  const bool ordered = device.topology().rank_order && depends_on_order(elements.reduction);
  return ordered ? failed(Code::unsupported, "sums in the order of the ranks (CROSSRAIL_REPRODUCIBLE) are not carried here") : Status{};
}

bool in_lanes(const SharedDevice& device, const Buffer& buffer, const Elements& elements) {
  return buffer.lanes && device.settings().shared_lanes != 0 && allreduce_device::known_to_devices(elements.reduction);
}

}  // namespace

Status allreduce(SharedDevice& device, const Buffer& buffer, const Elements& elements) {
  CROSSRAIL_TRY(check(device, buffer, elements));
  device.await_copies(buffer);
  if (device.alone() || device.members().devices() == 1 || elements.count == 0) return {};  // There is nothing to combine with.
  const bool lanes = in_lanes(device, buffer, elements);
  const std::uint64_t bytes = elements.count * bytes_of(elements.reduction.element);
  const Shape shape{Collective::allreduce, Memory::device, true, bytes, Order::call, elements.reduction};
  device.plan().part = lanes ? "multi_lane" : "standard";
  device.plan().shape = shape;
  const std::uint64_t hash = mix_word(mix_word(shape.hash(), buffer.number), elements.offset);
  return device.call({"crossrail_shared_allreduce", hash, bytes}, [&] { return Allreduce(device, buffer, elements, lanes).run(); });
}

}  // namespace crossrail::shared_device
