// This is the code of reduce_scatter_block/node_shared and reduce_scatter/node_shared.
#pragma once

#include <algorithm>

#include "collectives/packets.h"
#include "collectives/parameters.h"
#include "collectives/reduce_scatter_block/own_block.h"

namespace crossrail::reduce_scatter_block {

// A packet has only whole elements, and every block begins with a packet.
inline std::size_t packet_bytes(const Plan& plan) { return whole_elements(plan, Packet::kPayloadBytes); }
inline std::size_t packets_of(const Plan& plan, std::size_t block) { return (block + packet_bytes(plan) - 1) / packet_bytes(plan); }

// RowFacts describe a rank's row of blocks.
struct RowFacts {
  std::size_t longest, bytes;
  std::size_t packets;  // There are no more packets.
};
inline RowFacts facts_of(const Plan& plan, const EqualBlocks& blocks) {
  const std::size_t size = static_cast<std::size_t>(plan.group.size());
  return {blocks.block, blocks.block * size, packets_of(plan, blocks.block) * size};
}
// The last packet of each block may be only partly filled.
inline RowFacts facts_of(const Plan& plan, const UnequalBlocks& blocks) {
  return {blocks.longest_bytes, blocks.all_bytes, blocks.all_bytes / packet_bytes(plan) + static_cast<std::size_t>(plan.group.size())};
}

// A NodeWay says how such rows travel. If it says neither, there is no room for even a part of the blocks.
struct NodeWay {
  bool packets;
  std::size_t chunk;  // Without packets, one epoch moves so many bytes of a block.
};
// Returns the largest part of a block that one epoch stages outside packets; 0 means that there is no room for any.
inline std::size_t staged_at_a_time(const Plan& plan) {
  const std::size_t room = plan.control->layout().bulk_bytes / static_cast<std::size_t>(plan.group.size());
  return whole_elements(plan, std::min<std::size_t>(room, plan.parameter(parameters::part)));
}
inline NodeWay node_way(const Plan& plan, const RowFacts& row) {
  const std::size_t staged = staged_at_a_time(plan);
  const bool packets = row.packets <= plan.control->layout().packet_count && (row.bytes <= plan.parameter(parameters::packet) || staged == 0);
  return {packets, std::min(row.longest, staged)};
}

inline Fit fit_staged(const Topology& topology, const Shape& shape) {
  return fit_one_node(topology).needs(is_defined(shape.reduction), kDefinedReduction).planned(Planning::when_larger);
}

// `room` says that such calls have a way to travel.
inline Status plan_staged(Plan& plan, bool room) {
  const Status reserved = plan.reserve_scratch(Rows::scratch_bytes(plan.group.size()));
  return room ? reserved : failed(Code::no_memory, "the node's segment has no room for a part of the blocks");
}

// Returns the packet after those that it has written.
inline Packet* write_block(Packet* packet, std::uint64_t flag, const Part& block, std::size_t most) {
  for (std::size_t at = 0; at < block.bytes; at += most, ++packet) {
    copy_block(packet->payload, block.base + at, std::min(most, block.bytes - at));
    raise_flag(packet->flag, flag);
  }
  return packet;
}

// A PacketRow says where the packets of every rank's row lie, and which of them belong to this rank.
struct PacketRow {
  std::size_t stride, first;
  int half;
  std::uint64_t flag;
};

template <class Blocks>
PacketRow write_row(Plan& plan, const Scattering<Blocks>& scattering, std::size_t packets, std::uint64_t epoch) {
  ControlBlock& control = *plan.control;
  PacketRow row{packets, 0, static_cast<int>(epoch & 1), control.flag(epoch)};
  Packet* const first = control.packets(row.half, scattering.index, row.stride);
  Packet* next = first;
  const std::size_t most = packet_bytes(plan);
  for (int peer = 0; peer < plan.group.size(); ++peer) {
    if (peer == scattering.index) row.first = static_cast<std::size_t>(next - first);
    next = write_block(next, row.flag, {scattering.sent.at(peer), nullptr, 0, scattering.sent.bytes(peer)}, most);
  }
  plan.last.staged_bytes += scattering.sent.all(plan.group.size());
  return row;
}

template <class Blocks>
Status run_staged_packets(Plan& plan, const Scattering<Blocks>& scattering, std::size_t packets) {
  ControlBlock& control = *plan.control;
  const int size = plan.group.size();
  const std::uint64_t epoch = control.next_epoch();
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  const PacketRow row = write_row(plan, scattering, packets, epoch);
  const std::size_t own = scattering.sent.bytes(scattering.index), most = packet_bytes(plan);
  const Rows rows(plan, size, plan.scratch());
  std::size_t number = row.first;
  for (std::size_t done = 0; done < own; done += most, ++number) {
    const auto payload = [&](int peer, const std::byte*& at) -> Status {
      const Packet& packet = control.packets(row.half, peer, row.stride)[number];
      CROSSRAIL_TRY(control.await(peer, [&] { return packet.flag.load(std::memory_order_acquire) == row.flag; }));
      at = packet.payload;
      return {};
    };
    CROSSRAIL_TRY(rows.combine(std::min(most, own - done), scattering.result + done, payload));
  }
  if (!Blocks::is_empty(own)) control.seen_all(epoch);
  return {};
}

template <class Blocks>
Status run_staged_part(Plan& plan, const Scattering<Blocks>& scattering, std::size_t from, std::size_t chunk) {
  ControlBlock& control = *plan.control;
  const Blocks& blocks = scattering.sent;
  const int rank = scattering.index, size = plan.group.size();
  const std::uint64_t epoch = control.next_epoch();
  const int half = epoch & 1;
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  const auto staged = [&](int owner, int block) { return control.bulk(half, owner) + static_cast<std::size_t>(block) * chunk; };
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const std::size_t bytes = blocks.piece(peer, from, chunk);
    copy_in_cache(staged(rank, peer), blocks.at(peer) + from, bytes);
    plan.last.staged_bytes += bytes;
  }
  control.post(filled, epoch);
  const std::size_t own = blocks.piece(rank, from, chunk);
  if (Blocks::is_empty(own)) return {};
  const auto row = [&](int peer, const std::byte*& at) -> Status {
    if (peer != rank) CROSSRAIL_TRY(control.wait(peer, filled, epoch));
    at = peer == rank ? blocks.at(rank) + from : staged(peer, rank);
    return {};
  };
  CROSSRAIL_TRY(Rows(plan, size, plan.scratch()).combine(own, scattering.result + from, row));
  control.seen_all(epoch);
  return {};
}

template <class Blocks>
Status run_staged(Plan& plan, const Scattering<Blocks>& scattering, const NodeWay& way) {
  if (way.packets) return run_staged_packets(plan, scattering, facts_of(plan, scattering.sent).packets);
  const std::size_t longest = scattering.sent.longest();
  for (std::size_t from = 0; from < longest; from += way.chunk) CROSSRAIL_TRY(run_staged_part(plan, scattering, from, way.chunk));
  return {};
}

}  // namespace crossrail::reduce_scatter_block
