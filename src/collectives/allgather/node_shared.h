// This is the code of allgather/node_shared and allgatherv/node_shared.
#pragma once

#include <algorithm>

#include "collectives/allgather/own_block.h"
#include "collectives/packets.h"
#include "collectives/results.h"

namespace crossrail::allgather {

inline constexpr const char* kNoRoomForPart = "the node's segment has no room for a part of a block";

inline std::size_t packets_of(std::size_t block) { return (block + Packet::kPayloadBytes - 1) / Packet::kPayloadBytes; }

// Returns the largest part of a block that one epoch stages outside packets; 0 means that there is no room for any.
inline std::size_t staged_at_a_time(const Plan& plan) { return std::min<std::size_t>(plan.control->layout().bulk_bytes, plan.parameter(parameters::part)); }

// If no block is longer than this, all travel in packets.
inline std::uint64_t longest_in_packets(const Plan& plan) {
  const std::uint64_t wanted = staged_at_a_time(plan) == 0 ? Plan::kAnySize : plan.parameter(parameters::packet);
  return std::min<std::uint64_t>(wanted, plan.control->layout().packet_count * Packet::kPayloadBytes);
}

// A NodeWay says how blocks travel. If it says neither, there is no room for even a part of a block.
struct NodeWay {
  bool packets;
  std::size_t chunk;  // Without packets, one epoch moves so many bytes of a block.
};

template <class Blocks>
Status run_node_packets(Plan& plan, const Gathering<Blocks>& gathering) {
  ControlBlock& control = *plan.control;
  const Blocks& blocks = gathering.received;
  const std::size_t own = blocks.bytes(gathering.index), stride = packets_of(blocks.longest());
  const int rank = gathering.index, size = plan.group.size();
  const std::uint64_t epoch = control.next_epoch(), flag = control.flag(epoch);
  const int half = epoch & 1;
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  if (!Blocks::is_empty(own)) write_packets(control.packets(half, rank, stride), flag, gathering.own, own);
  plan.last.staged_bytes += own;
  gathering.copy_own(0, own);
  bool seen_all = true;  // Nobody waits for an empty block.
  for (int step = 1; step < size; ++step) {
    const int peer = rank + step < size ? rank + step : rank + step - size;
    const std::size_t bytes = blocks.bytes(peer);
    if (Blocks::is_empty(bytes)) seen_all = false;
    else CROSSRAIL_TRY(read_packets(control, flag, {peer, control.packets(half, peer, stride), 0, bytes}, blocks.at(peer)));
  }
  if (seen_all) control.seen_all(epoch);
  return {};
}

template <class Blocks>
Status run_node_part(Plan& plan, const Gathering<Blocks>& gathering, std::size_t from, std::size_t most) {
  ControlBlock& control = *plan.control;
  const Blocks& blocks = gathering.received;
  const int rank = gathering.index, size = plan.group.size();
  const std::uint64_t epoch = control.next_epoch();
  const int half = epoch & 1;
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  if (const std::size_t own = blocks.piece(rank, from, most); !Blocks::is_empty(own)) {
    copy_in_cache(control.bulk(half, rank), gathering.own + from, own);
    plan.last.staged_bytes += own;
    control.post(filled, epoch);
    gathering.copy_own(from, own);
  }
  const CopyResults copy_result = copy_of_results(plan, blocks.all(size));
  bool seen_all = true;
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const std::size_t bytes = blocks.piece(peer, from, most);
    if (Blocks::is_empty(bytes)) {
      seen_all = false;
      continue;
    }
    CROSSRAIL_TRY(control.wait(peer, filled, epoch));
    copy_result(blocks.at(peer) + from, control.bulk(half, peer), bytes);
  }
  if (seen_all) control.seen_all(epoch);
  return {};
}

template <class Blocks>
Status run_node_shared(Plan& plan, const Gathering<Blocks>& gathering, const NodeWay& way) {
  if (way.packets) return run_node_packets(plan, gathering);
  const std::size_t longest = gathering.received.longest();
  for (std::size_t from = 0; from < longest; from += way.chunk) CROSSRAIL_TRY(run_node_part(plan, gathering, from, way.chunk));
  return {};
}

}  // namespace crossrail::allgather
