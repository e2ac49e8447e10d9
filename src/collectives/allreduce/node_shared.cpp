// What   Few elements: every rank writes its own in packets, cache lines that hold data and flag together, and combines all ranks'
//        as they appear; among many ranks those of its group, and then the groups' results. Many: part by part, every rank stages its
//        elements in its region of the node's segment, combines its share of all ranks' there, and copies the others' shares out.
// When   One node.
// Cost   Packets: one flag latency + pm read and combined by every rank, m bytes of elements; in groups of g ranks two latencies and
//        (g + p/g) m, or three latencies and (2 + p/g^2) m where a rank combines a share. Parts: two flag latencies a part + 2m copied
//        and 2m read and combined.
// Needs  A shared segment on the node. Parameters: packet (most bytes of elements that travel in packets), flat (most ranks that combine all ranks'
//        packets; more do it in groups), part (most bytes of elements that are staged in one epoch), uncached (least bytes of elements whose results
//        are written past the caches).
// From   Ours; reduce-scatter and allgather as in Rabenseifner 2004. Epochs and halves are explained in transport/control_block.h.

#include <algorithm>

#include "collectives/allreduce/node_part.h"
#include "collectives/parameters.h"

namespace crossrail::allreduce::node_shared {
namespace {

constexpr int kPeersAhead = 4;
constexpr int kMostRanks = 4095;  // Packets allow no more.

// With groups, a rank has these rows of packets: its own, its group's results, and the results of all.
enum Row { own, of_group, of_all, kRows };

// There is only one group if the order of the members counts or there is no room for the rows.
Groups groups_of(const Plan& plan) {
  const ControlBlockLayout& layout = plan.control->layout();
  const bool few = static_cast<std::uint64_t>(layout.node_size) <= plan.parameter(parameters::flat);
  return {layout.node_size, few || combiner_of(plan).rank_order || layout.packet_count < kRows};
}

// A packet holds whole elements only.
std::size_t packet_elements(const Combiner& by) { return Packet::kPayloadBytes / by.element_bytes; }

void write_packets(Packet* packet, std::uint64_t flag, const Elements& elements, const Combiner& by) {
  const std::size_t most = packet_elements(by);
  for (std::size_t first = 0; first < elements.count; first += most, ++packet) {
    copy_block(packet->payload, elements.send + first * by.element_bytes, std::min(most, elements.count - first) * by.element_bytes);
    raise_flag(packet->flag, flag);
  }
}

// PacketRows are the packets of one half in which a rank finds what it combines. If there is only one packet, every rank of a group makes the group's
// result itself and reads those of the other groups from different ranks. Several packets are shared out: a rank combines its share of the packets
// within its group, then that of all groups, and reads the other packets from the ranks of its group.
class PacketRows {
 public:
  PacketRows(Plan& plan, const Elements& elements)
      : control_(*plan.control), by_(combiner_of(plan)), elements_(elements), groups_(groups_of(plan)), most_(packet_elements(by_)),
        count_((elements.count + most_ - 1) / most_), stride_(rows(groups_) * count_), group_(groups_.of(control_.node_rank())) {}

  static std::size_t rows(const Groups& groups) { return groups.count() > 1 ? kRows : 1; }

  Status run() {
    const std::uint64_t epoch = control_.next_epoch();
    CROSSRAIL_TRY(control_.wait_until_reusable(epoch));
    flag_ = control_.flag(epoch), half_ = epoch & 1;
    write_packets(row(own, control_.node_rank()), flag_, elements_, by_);
    if (groups_.count() > 1) {
      CROSSRAIL_TRY(combine_group());
      CROSSRAIL_TRY(shared_out() ? combine_share() : combine_groups());
    } else {
      CROSSRAIL_TRY(combine_all());
    }
    // A group's result is there only after all its ranks have come.
    control_.seen_all(epoch);
    return {};
  }

 private:
  static constexpr std::size_t kMostWhole = 1;  // Every rank combines all packets if there are no more than this.

  Packet* row(Row which, int peer) const {
    return control_.packets(half_, peer, stride_) + static_cast<std::size_t>(which) * count_;
  }
  bool shared_out() const { return count_ > kMostWhole; }
  // Returns which rank of a group combines the packets of this number.
  int owner(int group, std::size_t number) const {
    return groups_.first(group) + static_cast<int>(number % static_cast<std::size_t>(groups_.members(group)));
  }
  bool is_mine(std::size_t number) const { return !shared_out() || owner(group_, number) == control_.node_rank(); }

  std::size_t elements_in(std::size_t number) const { return std::min(most_, elements_.count - number * most_); }
  std::byte* received(std::size_t number) const { return elements_.recv + number * most_ * by_.element_bytes; }

  Status payload_of(int peer, const Packet& packet, const std::byte*& at) {
    CROSSRAIL_TRY(control_.await(peer, [&] { return packet.flag.load(std::memory_order_acquire) == flag_; }));
    at = packet.payload;
    return {};
  }

  // A Column is the packets of one number of several ranks.
  struct Column {
    Row row;
    std::size_t number;
    int members;
  };

  // `rank_of(member)` says which ranks these are.
  template <class RankOf>
  Status combine(const Column& column, const RankOf& rank_of, std::byte* to) {
    std::byte blocks[Tree::room(kMostRanks, Packet::kPayloadBytes)];
    const auto fetch = [&](int member) {
      if (member < column.members) __builtin_prefetch(row(column.row, rank_of(member)) + column.number);
    };
    const auto operand = [&](int member, const std::byte*& at) -> Status {
      const int peer = rank_of(member);
      CROSSRAIL_TRY(payload_of(peer, row(column.row, peer)[column.number], at));
      for (int ahead = member == 0 ? 1 : kPeersAhead; ahead <= kPeersAhead; ++ahead) fetch(member + ahead);
      return {};
    };
    if (column.members > 1) return Tree(by_, column.members, blocks, Packet::kPayloadBytes).combine(elements_in(column.number), to, operand);
    const std::byte* only = nullptr;
    CROSSRAIL_TRY(operand(0, only));
    copy_block(to, only, elements_in(column.number) * by_.element_bytes);
    return {};
  }

  template <class RankOf>
  Status combine_into(Packet& packet, const Column& column, const RankOf& rank_of) {
    CROSSRAIL_TRY(combine(column, rank_of, packet.payload));
    raise_flag(packet.flag, flag_);
    return {};
  }

  Status combine_all() {
    for (std::size_t number = 0; number < count_; ++number) {
      CROSSRAIL_TRY(combine({own, number, control_.node_size()}, [](int member) { return member; }, received(number)));
    }
    return {};
  }

  Status combine_group() {
    Packet* const results = row(of_group, control_.node_rank());
    for (std::size_t number = 0; number < count_; ++number) {
      if (!is_mine(number)) continue;
      const auto rank_of = [&](int member) { return groups_.first(group_) + member; };
      CROSSRAIL_TRY(combine_into(results[number], {own, number, groups_.members(group_)}, rank_of));
    }
    return {};
  }

  // Different ranks read different packets, so that no packet has many readers.
  Status combine_groups() {
    const int rank = control_.node_rank(), place = rank - groups_.first(group_);
    const auto rank_of = [&](int group) { return group == group_ ? rank : groups_.first(group) + place % groups_.members(group); };
    for (std::size_t number = 0; number < count_; ++number) {
      CROSSRAIL_TRY(combine({of_group, number, groups_.count()}, rank_of, received(number)));
    }
    return {};
  }

  Status combine_share() {
    Packet* const results = row(of_all, control_.node_rank());
    for (std::size_t number = 0; number < count_; ++number) {
      if (!is_mine(number)) continue;
      CROSSRAIL_TRY(combine_into(results[number], {of_group, number, groups_.count()}, [&](int group) { return owner(group, number); }));
    }
    for (std::size_t number = 0; number < count_; ++number) {
      const int peer = owner(group_, number);
      const std::byte* result = nullptr;
      CROSSRAIL_TRY(payload_of(peer, row(of_all, peer)[number], result));
      copy_block(received(number), result, elements_in(number) * by_.element_bytes);
    }
    return {};
  }

  ControlBlock& control_;
  Combiner by_;
  Elements elements_;
  Groups groups_;
  std::size_t most_, count_, stride_;  // They count the elements of a packet, the packets of a row, and the packets of a rank.
  int group_;
  std::uint64_t flag_ = 0;
  int half_ = 0;
};

Status run_part(Plan& plan, const Elements& elements) {
  ControlBlock& control = *plan.control;
  const std::size_t element_bytes = combiner_of(plan).element_bytes;
  const std::uint64_t epoch = control.next_epoch();
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  const Shares shares{elements.count, grain_of(element_bytes), control.node_size()};
  const Regions regions{control.bulk(epoch & 1, 0), control.layout().bulk_bytes};
  NodePart part(plan, elements, shares, {regions, epoch});
  part.stage();
  CROSSRAIL_TRY(part.reduce());
  return part.collect();
}

}  // namespace

std::size_t most_staged(const Plan& plan) {
  const std::size_t element_bytes = combiner_of(plan).element_bytes;
  return std::min<std::size_t>(plan.control->layout().bulk_bytes, plan.parameter(parameters::part)) / element_bytes * element_bytes;
}

Status reduce_by_parts(Plan& plan, const Elements& elements) {
  const std::size_t element_bytes = combiner_of(plan).element_bytes;
  return in_parts(elements, element_bytes, most_staged(plan), [&](const Elements& part) { return run_part(plan, part); });
}

Fit fit(const Topology& topology, const Shape& shape) { return fit_one_node(topology).needs(is_defined(shape.reduction), kDefinedReduction).planned(Planning::when_larger); }

Status plan(Plan& plan) {
  const ControlBlockLayout& layout = plan.control->layout();
  const std::size_t element_bytes = combiner_of(plan).element_bytes;
  const std::size_t in_packets = Packet::kPayloadBytes / element_bytes * element_bytes * (layout.packet_count / PacketRows::rows(groups_of(plan)));
  const std::size_t staged = most_staged(plan);
  const std::uint64_t most = staged == 0 ? Plan::kAnySize : plan.parameter(parameters::packet);
  const bool can_be_packets = plan.control->node_size() <= kMostRanks;
  plan.packets = can_be_packets && plan.shape.block_bytes <= most;
  plan.serve(plan.packets || !can_be_packets ? 0 : most + 1, plan.packets ? most : Plan::kAnySize);
  plan.chunk_bytes = plan.packets ? in_packets : staged;
  if (plan.chunk_bytes == 0) return failed(Code::no_memory, "the node's segment has no room for an element");
  return plan.packets ? Status{} : plan.reserve_scratch(NodePart::scratch_bytes(plan.control->node_size()));
}

Status run(Plan& plan, const Buffers& buffers) {
  const Elements elements = elements_of(plan, buffers);
  if (!plan.packets) return reduce_by_parts(plan, elements);
  plan.last.staged_bytes += elements.count * combiner_of(plan).element_bytes;
  return in_parts(elements, combiner_of(plan).element_bytes, plan.chunk_bytes, [&](const Elements& part) { return PacketRows(plan, part).run(); });
}

}  // namespace crossrail::allreduce::node_shared
