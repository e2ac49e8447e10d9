#include "shared_device/allreduce.h"

#include <algorithm>

#include "collectives/allreduce/messages.h"
#include "collectives/allreduce/node_part.h"
#include "collectives/allreduce_device/combined.h"

namespace crossrail::shared_device {
namespace {

using allreduce::Shares;
using allreduce::Stretch;

// Fewer are not worth a process of their own.
constexpr std::size_t kGrainBytes = 4096;
// Shares that go whole, in fewer messages, and not halved or round a ring.
constexpr std::size_t kFewBytes = 8 * 1024;

// A part of everybody's share.
struct Part {
  std::size_t number = 0;
  std::uint64_t epoch = 0;
  DeviceWork fetched;  // to the rooms
};

class Allreduce {
 public:
  Allreduce(SharedDevice& device, const Buffer& buffer, const Elements& elements, bool lanes)
      : device_(device), buffer_(buffer), elements_(elements), lanes_(lanes), bytes_(bytes_of(elements.reduction.element)),
        rank_(device.topology().node_rank()), launched_(device.queue().launched()), own_({device.members().leader_of()[at(rank_)]}),
        operands_(lanes ? device.members().leaders() : own_) {}

  Status run() {
    if (lanes_ || device_.each_launches()) CROSSRAIL_TRY(device_.control().barrier());  // the leaders' elements are there
    if (lanes_ && device_.topology().one_node()) return straight();
    const int sharers = lanes_ ? device_.topology().smallest_node() : device_.members().fewest_processes();
    shares_ = {elements_.count, std::max<std::size_t>(1, kGrainBytes / bytes_), sharers};
    most_ = device_.room_bytes() / bytes_;
    const std::size_t parts = (shares_.of(0).count + most_ - 1) / most_;  // nobody has more
    Part before;
    for (std::size_t number = 0; number < parts; ++number) {
      Part part{number, device_.control().next_epoch(), {}};
      CROSSRAIL_TRY(fetch(part));
      if (number > 0) CROSSRAIL_TRY(across(before));
      before = part;
    }
    CROSSRAIL_TRY(across(before));
    // Where this rank's leader has the results from one launcher, those of other devices do not matter.
    return lanes_ || device_.each_launches() ? device_.queue().finish(given_) : device_.queue().finish_launched(given_);
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  // Where elements from `first` on lie with a leader.
  std::byte* with(int leader, std::size_t first) const { return device_.memory_of(buffer_, leader) + elements_.offset + first * bytes_; }

  // One node: a share for every process that launches.
  Status straight() {
    std::vector<int> launchers;
    for (int rank = 0; rank < device_.control().node_size(); ++rank) {
      if (device_.each_launches() || device_.members().leader_of()[at(rank)] == rank) launchers.push_back(rank);
    }
    shares_ = {elements_.count, std::max<std::size_t>(1, kGrainBytes / bytes_), static_cast<int>(launchers.size())};
    DeviceWork work;
    if (launched_.empty()) {
      CROSSRAIL_TRY(device_.queue().begin_combinations({}, work, Launch::one_a_device));
    } else {
      const auto number = std::find(launchers.begin(), launchers.end(), rank_) - launchers.begin();
      const Stretch share = shares_.of(static_cast<int>(number));
      for (const int leader : operands_) from_.push_back(with(leader, share.first));
      for (const int leader : operands_) to_.push_back(with(leader, share.first));
      const crossrail_combination mine = combination(share, {0, from_.size()}, {0, to_.size()});
      CROSSRAIL_TRY(device_.queue().begin_combination(mine, work, Launch::one_a_device));
    }
    return device_.queue().finish(work);
  }

  // A rank's piece of a part.
  Stretch piece(int node_rank, const Part& part) const {
    const Stretch share = shares_.of(lanes_ ? node_rank : device_.members().place_of(node_rank));
    const std::size_t done = std::min(part.number * most_, share.count);
    return {share.first + done, std::min(most_, share.count - done)};
  }
  static std::size_t room_of(const Part& part) { return part.number % 2; }

  // Device to rooms, of all for whom this rank launches. What an earlier part has left there, the device has done before.
  Status fetch(Part& part) { return lanes_ ? combine_into_rooms(part) : copy(part, Way::to_rooms, part.fetched); }

  Status across(const Part& part) {
    const Stretch mine = piece(rank_, part);
    CROSSRAIL_TRY(device_.queue().finish_launched(part.fetched));
    if (mine.count > 0) CROSSRAIL_TRY(combine_by_messages(device_.room(room_of(part)), mine.count));
    ControlBlock& control = device_.control();
    control.post(reduced, part.epoch);
    for (const int rank : launched_) {
      if (rank != rank_) CROSSRAIL_TRY(control.wait(rank, reduced, part.epoch));
    }
    return lanes_ ? spread_from_rooms(part) : copy(part, Way::from_rooms, given_);
  }

  Status combine_by_messages(std::byte* room, std::size_t count) {
    Plan& plan = device_.plan();
    const Group& group = lanes_ ? device_.topology().lane : device_.members().same_place();
    const allreduce::Combiner by{combine_of(elements_.reduction), bytes_, device_.topology().rank_order};
    const allreduce::Exchange exchange{plan, group, by, plan.scratch()};
    const allreduce::Elements all{room, room, count};
    if (count * bytes_ < kFewBytes) return allreduce::recursive_doubling::reduce(exchange, all);
    const bool power_of_two = (group.size() & (group.size() - 1)) == 0;
    return power_of_two ? allreduce::rabenseifner::reduce(exchange, all) : allreduce::ring::reduce(exchange, all);
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
    const bool kernels = !launched_.empty() && device_.queue().module().combine != nullptr;  // built with any
    const crossrail_engine engine = kernels ? CROSSRAIL_ENGINE_KERNEL : CROSSRAIL_ENGINE_COPY;
    return device_.queue().begin_exchange(blocks_, engine, work, Launch::one_a_device);
  }

  Status combine_into_rooms(Part& part) {
    begin_rows();
    for (const int rank : launched_) {
      const Stretch its = piece(rank, part);
      for (const int leader : operands_) from_.push_back(with(leader, its.first));
      to_.push_back(device_.room_on_device(rank, room_of(part)));
      add_row(its);
    }
    return device_.queue().begin_combinations(rows(), part.fetched, Launch::one_a_device);
  }
  Status spread_from_rooms(const Part& part) {
    begin_rows();
    for (const int rank : launched_) {
      const Stretch its = piece(rank, part);
      from_.push_back(device_.room_on_device(rank, room_of(part)));
      for (const int leader : operands_) to_.push_back(with(leader, its.first));
      add_row(its);
    }
    return device_.queue().begin_combinations(rows(), given_, Launch::one_a_device);
  }

  // Rows of a step: what was added to `from_` and `to_` since the last one.
  struct Range {
    std::size_t first, end;
  };
  struct Row {
    Stretch elements;
    Range from, to;
  };
  void begin_rows() {
    from_.clear();
    to_.clear();
    added_.clear();
  }
  void add_row(const Stretch& elements) {
    const Range before = added_.empty() ? Range{0, 0} : Range{added_.back().from.end, added_.back().to.end};
    added_.push_back({elements, {before.first, from_.size()}, {before.end, to_.size()}});
  }
  std::span<crossrail_combination> rows() {
    combinations_.clear();
    for (const Row& one : added_) combinations_.push_back(combination(one.elements, one.from, one.to));
    return combinations_;
  }
  crossrail_combination combination(const Stretch& elements, const Range& from, const Range& to) const {
    crossrail_combination made{};
    made.reduction = {static_cast<int>(elements_.reduction.operation), static_cast<int>(elements_.reduction.element)};
    made.from = from_.data() + from.first;
    made.to = to_.data() + to.first;
    made.from_count = static_cast<int>(from.end - from.first);
    made.to_count = static_cast<int>(to.end - to.first);
    made.bytes = elements.count * bytes_;
    return made;
  }

  SharedDevice& device_;
  const Buffer& buffer_;
  const Elements& elements_;
  bool lanes_;
  std::size_t bytes_;  // of an element
  int rank_;           // in the node
  const std::vector<int>& launched_;
  std::vector<int> own_;              // this rank's leader
  const std::vector<int>& operands_;  // the leaders whose elements this rank's node, or device, combines
  Shares shares_{};
  std::size_t most_ = 0;  // elements of a part
  DeviceWork given_;      // back from the rooms, of the part before
  std::vector<crossrail_block> blocks_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  std::vector<Row> added_;
  std::vector<crossrail_combination> combinations_;
};

// The same on all ranks, as MPI obliges them to give the same arguments.
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
  if (device.alone() || device.members().devices() == 1 || elements.count == 0) return {};  // there is nothing to combine with
  const bool lanes = in_lanes(device, buffer, elements);
  const std::uint64_t bytes = elements.count * bytes_of(elements.reduction.element);
  const Shape shape{Collective::allreduce, Memory::device, true, bytes, Order::call, elements.reduction};
  device.plan().part = lanes ? "multi_lane" : "standard";
  device.plan().shape = shape;
  const std::uint64_t hash = mix_word(mix_word(shape.hash(), buffer.number), elements.offset);
  return device.call({"crossrail_shared_allreduce", hash, bytes}, [&] { return Allreduce(device, buffer, elements, lanes).run(); });
}

}  // namespace crossrail::shared_device
