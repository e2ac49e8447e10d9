// What   Every rank stages its blocks in its region of the node's segment, and combines its own of all ranks there. Short rows travel in
//        packets, cache lines that hold data and flag together; long ones part by part, one flag each.
// When   One node.
// Cost   One flag latency a part + pm staged and pm read and combined by every rank. Alternating halves: no closing barrier.
// Needs  A shared segment on the node. Parameters: packet (longest row of blocks that travels in packets), part (most of a block in one epoch).
// From   Ours, the first half of allreduce's node_shared; epochs and halves are explained in transport/control_block.h.

#include <algorithm>

#include "collectives/packets.h"
#include "collectives/parameters.h"
#include "collectives/reduce_scatter_block/own_block.h"

namespace crossrail::reduce_scatter_block::node_shared {
namespace {

// Whole elements only; and every block begins with a packet.
std::size_t packet_bytes(const Plan& plan) { return whole_elements(plan, Packet::kPayloadBytes); }
std::size_t packets_a_block(const Plan& plan) { return (plan.shape.block_bytes + packet_bytes(plan) - 1) / packet_bytes(plan); }

void write_block(Packet* packet, std::uint64_t flag, const std::byte* from, const Plan& plan) {
  const std::size_t block = plan.shape.block_bytes, most = packet_bytes(plan);
  for (std::size_t at = 0; at < block; at += most, ++packet) {
    copy_block(packet->payload, from + at, std::min(most, block - at));
    packet->flag.store(flag, std::memory_order_release);
  }
}

Status run_packets(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const std::size_t block = plan.shape.block_bytes, most = packet_bytes(plan), of_block = packets_a_block(plan);
  const int rank = plan.group.index(), size = plan.group.size();
  const std::size_t stride = of_block * static_cast<std::size_t>(size), first = of_block * static_cast<std::size_t>(rank);
  const std::uint64_t epoch = control.next_epoch(), flag = control.flag(epoch);
  const int half = epoch & 1;
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  for (int peer = 0; peer < size; ++peer) {
    write_block(control.packets(half, rank, stride) + of_block * static_cast<std::size_t>(peer), flag, sent(plan, buffers, peer), plan);
  }
  plan.last.staged_bytes += static_cast<std::size_t>(size) * block;
  const Rows rows(plan, size, plan.scratch());
  for (std::size_t number = 0; number < of_block; ++number) {
    const auto payload = [&](int peer, const std::byte*& at) -> Status {
      const Packet& packet = control.packets(half, peer, stride)[first + number];
      CROSSRAIL_TRY(control.await(peer, [&] { return packet.flag.load(std::memory_order_acquire) == flag; }));
      at = packet.payload;
      return {};
    };
    CROSSRAIL_TRY(rows.combine(std::min(most, block - number * most), buffers.recv + number * most, payload));
  }
  control.seen_all(epoch);
  return {};
}

Status run_part(Plan& plan, const Buffers& buffers, std::size_t from, std::size_t bytes) {
  ControlBlock& control = *plan.control;
  const int rank = plan.group.index(), size = plan.group.size();
  const std::uint64_t epoch = control.next_epoch();
  const int half = epoch & 1;
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  const std::size_t stride = std::min<std::size_t>(plan.chunk_bytes, plan.shape.block_bytes);
  const auto staged = [&](int owner, int block) { return control.bulk(half, owner) + static_cast<std::size_t>(block) * stride; };
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    copy_in_cache(staged(rank, peer), sent(plan, buffers, peer) + from, bytes);
  }
  plan.last.staged_bytes += static_cast<std::size_t>(size - 1) * bytes;
  control.post(filled, epoch);
  const auto row = [&](int peer, const std::byte*& at) -> Status {
    if (peer != rank) CROSSRAIL_TRY(control.wait(peer, filled, epoch));
    at = peer == rank ? sent(plan, buffers, rank) + from : staged(peer, rank);
    return {};
  };
  CROSSRAIL_TRY(Rows(plan, size, plan.scratch()).combine(bytes, buffers.recv + from, row));
  control.seen_all(epoch);
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) { return fit_one_node(topology).needs(is_defined(shape.reduction), kDefinedReduction).planned(Planning::when_larger); }

Status plan(Plan& plan) {
  const ControlBlockLayout& layout = plan.control->layout();
  const std::size_t size = static_cast<std::size_t>(plan.group.size());
  plan.chunk_bytes = whole_elements(plan, std::min<std::size_t>(layout.bulk_bytes / size, plan.parameter(parameters::part)));
  const std::uint64_t wanted = plan.chunk_bytes == 0 ? Plan::kAnySize : plan.parameter(parameters::packet) / size;
  const std::uint64_t longest = std::min<std::uint64_t>(wanted, layout.packet_count / size * packet_bytes(plan));
  plan.packets = plan.shape.block_bytes <= longest;
  plan.serve(plan.packets ? 0 : longest + 1, plan.packets ? longest : Plan::kAnySize);
  const Status reserved = plan.reserve_scratch(Rows::scratch_bytes(plan.group.size()));
  if (!plan.packets && plan.chunk_bytes == 0) return failed(Code::no_memory, "the node's segment has no room for a part of the blocks");
  return reserved;
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (block == 0) return {};
  if (plan.packets) return run_packets(plan, buffers);
  for (std::size_t from = 0; from < block; from += plan.chunk_bytes) {
    CROSSRAIL_TRY(run_part(plan, buffers, from, std::min(plan.chunk_bytes, block - from)));
  }
  return {};
}

}  // namespace crossrail::reduce_scatter_block::node_shared
