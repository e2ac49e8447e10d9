// In this exchange of leaders, the node's receive buffer holds two regions per leader: all ranks of the node copy out the region of one step while
// the next arrives (OHIO paper, section III-C, Algorithm 1). Sends are posted ahead, since the send buffer holds all regions anyway.
//
// The paper has one leader. Several leaders share the steps in rounds: step 1 goes to the first, step 2 to the second, and so on. If there are more
// leaders than steps, long regions travel in parts.
#pragma once

#include <algorithm>
#include <utility>

#include "collectives/nodes.h"
#include "collectives/parameters.h"

namespace crossrail {

// A NodeExchange is what a node sends to and receives from every other node, in its memory.
struct NodeExchange {
  std::vector<std::size_t> out_at, out_bytes;
  std::vector<std::size_t> in_bytes;  // This is what is expected. All of these are indexed by node.
  // They are used if a region has a table of its lengths at the beginning. At most `in_room` may arrive.
  std::vector<std::size_t> table_bytes, in_room;
  mutable std::vector<std::size_t> came;  // It counts what has arrived of this rank's piece.
  std::size_t (*length_of)(const Plan& plan, int node, const std::byte* region) = nullptr;
  int slots = 1;                 // They are the steps of a round.
  int parts = 1;                 // So many leaders share a step; there are slots x parts leaders.
  std::size_t split_bytes = 1;   // Every part of a region has at least so many bytes.
  int ahead = 1;                 // So many rounds are sent before the first has arrived.
  std::size_t receive_at = 0;    // The receive buffer begins here.
  std::size_t region_bytes = 0;  // It is the size of a region in the receive buffer.

  int leaders() const { return slots * parts; }
  int rounds(const Topology& topology) const { return (topology.node_count() - 2 + slots) / slots; }
  // It is the number of regions of one slot.
  int depth(const Topology& topology) const { return std::min(2, rounds(topology)); }
  // It is the number of regions in the receive buffer.
  std::size_t arriving(const Topology& topology) const { return static_cast<std::size_t>(slots * depth(topology)); }
  std::size_t end(const Topology& topology) const { return receive_at + arriving(topology) * region_bytes; }
  // If the step is node_count or more, the slot has nothing to do in this round.
  int step(int round, int slot) const { return round * slots + slot + 1; }
  std::size_t arriving_at(const Topology& topology, int round, int slot) const {
    return receive_at + static_cast<std::size_t>(slot * depth(topology) + round % 2) * region_bytes;
  }
  // A Piece is what leader `part` carries of a region. The region's table is in the first piece, and a shorter region never has longer pieces.
  struct Piece {
    std::size_t at, bytes;
  };
  std::size_t pitch(std::size_t bytes, int node) const {
    const auto among = static_cast<std::size_t>(parts);
    return std::max({split_bytes, (bytes + among - 1) / among, table_bytes.empty() ? 1 : table_bytes[node]});
  }
  Piece piece(std::size_t bytes, int node, int part) const {
    const std::size_t each = pitch(bytes, node), at = std::min(bytes, each * static_cast<std::size_t>(part));
    return {at, std::min(each, bytes - at)};
  }
  std::size_t room_for(int node) const { return length_of == nullptr ? in_bytes[node] : in_room[node]; }
  // Says where byte `at` lies of a region of `bytes` bytes that has come from a node, and how many bytes follow there.
  struct Stretch {
    std::size_t at, bytes;
  };
  Stretch arrived_at(std::size_t at, std::size_t bytes, int node) const {
    const std::size_t each = pitch(bytes, node), part = at / each;
    return {part * pitch(room_for(node), node) + at % each, each - at % each};
  }
};

// It reads the parameters leaders and split.
inline void plan_leaders(const Plan& plan, NodeExchange& exchange) {
  const Topology& topology = *plan.topology;
  const auto leaders = static_cast<int>(plan.parameter(parameters::leaders));
  exchange.slots = std::clamp(leaders, 1, std::max(1, topology.node_count() - 1));
  exchange.parts = leaders / exchange.slots;
  exchange.split_bytes = std::max<std::size_t>(1, plan.parameter(parameters::split));
}

inline int ahead_of(const Plan& plan) { return static_cast<int>(plan.parameter(parameters::ahead)); }

// LeaderMessages are one leader's messages of one call, by round. Empty regions are no messages, which both ends know.
class LeaderMessages {
 public:
  LeaderMessages(Plan& plan, const NodeExchange& exchange, std::byte* memory)
      : plan_(plan),
        topology_(*plan.topology),
        exchange_(exchange),
        memory_(memory),
        leader_(topology_.node_rank()),
        slot_(leader_ % exchange.slots),
        part_(leader_ / exchange.slots) {}

  bool has(int round) const { return exchange_.step(round, slot_) < topology_.node_count(); }

  Status begin() {
    for (int round = 0; round < 2; ++round) CROSSRAIL_TRY(post_receive(round));
    return send_up_to(exchange_.ahead);
  }
  Status post_receive(int round) {
    if (!has(round)) return {};
    const int node = node_of(round);
    pending_[round % 2] = exchange_.piece(exchange_.in_bytes[node], node, part_).bytes > 0;
    return pending_[round % 2] ? receive(round) : Status{};
  }
  // Sends the regions of all rounds before `round`.
  Status send_up_to(int round) {
    for (; sent_ < round && has(sent_); ++sent_) {
      const int node = partners_of(topology_, exchange_.step(sent_, slot_)).to;
      const NodeExchange::Piece piece = exchange_.piece(exchange_.out_bytes[node], node, part_);
      if (piece.bytes == 0) continue;
      const std::byte* const region = memory_ + exchange_.out_at[node];
      CROSSRAIL_TRY(plan_.send(topology_.lane[node], region + piece.at, piece.bytes, Links::Channel::coalesced));
      note_posted();
    }
    return {};
  }
  // Together with this leader's last region, all its sends must be complete, because the next call writes there. It does not wait for the call's
  // other messages, because the whole node waits here.
  Status wait_received(int round, std::uint64_t round_epoch) {
    if (part_ > 0 && exchange_.length_of != nullptr) CROSSRAIL_TRY(find_out(round, round_epoch));
    if (has(round + 1)) return pending_[round % 2] ? plan_.links->wait_for(receive_[round % 2]) : Status{};
    for (Links::Request request = first_; any_ && request <= last_; ++request) CROSSRAIL_TRY(plan_.links->wait_for(request));
    return {};
  }

 private:
  int node_of(int round) const { return partners_of(topology_, exchange_.step(round, slot_)).from; }
  std::byte* region(int round) const { return memory_ + exchange_.arriving_at(topology_, round, slot_); }
  Status receive(int round) {
    const int node = node_of(round);
    const NodeExchange::Piece piece = exchange_.piece(exchange_.room_for(node), node, part_);
    const Links::UpTo what{region(round) + piece.at, piece.bytes, came_of(node)};
    if (exchange_.length_of != nullptr) {
      CROSSRAIL_TRY(plan_.receive_up_to(topology_.lane[node], what, Links::Channel::coalesced));
    } else {
      CROSSRAIL_TRY(plan_.receive(topology_.lane[node], what.data, what.bytes, Links::Channel::coalesced));
    }
    receive_[round % 2] = note_posted();
    return {};
  }
  std::size_t& came_of(int node) { return exchange_.came.empty() ? nothing_ : exchange_.came[node]; }
  // Learns from the first part whether this part comes. It may not come, or may come although none was expected.
  Status find_out(int round, std::uint64_t round_epoch) {
    const int node = node_of(round);
    if (exchange_.in_bytes[node] == 0) return {};
    CROSSRAIL_TRY(plan_.control->wait(slot_, arrived, round_epoch));
    const bool comes = exchange_.piece(exchange_.length_of(plan_, node, region(round)), node, part_).bytes > 0;
    const bool posted = std::exchange(pending_[round % 2], comes);
    if (posted && !comes) plan_.links->give_up(came_of(node));
    return comes && !posted ? receive(round) : Status{};
  }
  Links::Request note_posted() {
    last_ = plan_.links->last_posted();
    if (!any_) first_ = last_;
    any_ = true;
    return last_;
  }

  Plan& plan_;
  const Topology& topology_;
  const NodeExchange& exchange_;
  std::byte* memory_;
  int leader_, slot_, part_;
  int sent_ = 0;
  bool pending_[2] = {};
  Links::Request receive_[2] = {};
  std::size_t nothing_ = 0;
  bool any_ = false;
  Links::Request first_ = 0, last_ = 0;  // They are requests of this leader's messages.
};

// A PipelineCall is one call, after this rank has marked `filled` for `epoch`. `copy_own()` copies this rank's blocks from its own node and marks
// `copied`; `copy(node, region)` copies those that have come from a node. Both return a Status.
template <class CopyOwn, class Copy>
struct PipelineCall {
  Plan& plan;
  const NodeExchange& exchange;
  std::byte* memory;
  std::uint64_t epoch;
  CopyOwn copy_own;
  Copy copy;

  Status run() { return plan.control->node_rank() < exchange.leaders() ? lead() : follow(); }

 private:
  Status lead();
  Status follow();
  Status copy_round(int round, std::uint64_t round_epoch);
};

template <class CopyOwn, class Copy>
Status PipelineCall<CopyOwn, Copy>::lead() {
  ControlBlock& control = *plan.control;
  const int rounds = exchange.rounds(*plan.topology);
  LeaderMessages messages(plan, exchange, memory);
  CROSSRAIL_TRY(control.wait_all(filled, epoch));
  CROSSRAIL_TRY(messages.begin());
  CROSSRAIL_TRY(copy_own());
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t round_epoch = control.next_epoch();
    if (messages.has(round)) CROSSRAIL_TRY(messages.wait_received(round, round_epoch));
    // No rank may leave before all have read their own node's blocks, because the next call may write there.
    if (round == 0 && control.node_rank() == 0) CROSSRAIL_TRY(control.wait_all(copied, epoch));
    if (messages.has(round)) control.post(arrived, round_epoch);
    CROSSRAIL_TRY(messages.send_up_to(round + 1 + exchange.ahead));
    CROSSRAIL_TRY(copy_round(round, round_epoch));
    if (!messages.has(round + 2)) continue;
    CROSSRAIL_TRY(control.wait_all(copied, round_epoch));
    CROSSRAIL_TRY(messages.post_receive(round + 2));
  }
  return {};
}

template <class CopyOwn, class Copy>
Status PipelineCall<CopyOwn, Copy>::follow() {
  CROSSRAIL_TRY(copy_own());
  for (int round = 0; round < exchange.rounds(*plan.topology); ++round) {
    CROSSRAIL_TRY(copy_round(round, plan.control->next_epoch()));
  }
  return {};
}

template <class CopyOwn, class Copy>
Status PipelineCall<CopyOwn, Copy>::copy_round(int round, std::uint64_t round_epoch) {
  ControlBlock& control = *plan.control;
  const Topology& topology = *plan.topology;
  for (int slot = 0; slot < exchange.slots && exchange.step(round, slot) < topology.node_count(); ++slot) {
    for (int part = 0; part < exchange.parts; ++part) {
      const int leader = part * exchange.slots + slot;
      if (leader != control.node_rank()) CROSSRAIL_TRY(control.wait(leader, arrived, round_epoch));
    }
    CROSSRAIL_TRY(copy(partners_of(topology, exchange.step(round, slot)).from, memory + exchange.arriving_at(topology, round, slot)));
  }
  control.post(copied, round_epoch);
  return {};
}

}  // namespace crossrail
