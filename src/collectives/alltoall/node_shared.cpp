// What   Every rank copies its blocks into its region of the node's segment and flags it; it fetches
//        its block from every other rank's region as the flags appear. Small blocks travel in
//        packets, cache lines that hold data and flag together; large ones in chunks, one flag each.
// When   One node, small and medium blocks; large ones where single copy is not allowed.
// Cost   One flag latency + 2pm copied by every rank. Alternating halves: no closing barrier.
// Needs  A shared segment on the node. Parameters: packet (largest send buffer that travels in
//        packets), chunk (most bytes of a block in one epoch).
// From   Ours; epochs and halves are explained in transport/control_block.h.

#include <algorithm>

#include "collectives/packets.h"
#include "collectives/parameters.h"

namespace crossrail::alltoall::node_shared {
namespace {

constexpr int kPeersAhead = 4;

// Packets carry all blocks of one rank, one after the other.
std::size_t packet_stride(const Plan& plan) {
  const std::size_t bytes = plan.shape.block_bytes * plan.group.size();
  return std::max<std::size_t>(1, (bytes + Packet::kPayloadBytes - 1) / Packet::kPayloadBytes);
}

// A PacketRound is one round of packets.
struct PacketRound {
  Packet* mine;
  std::uint64_t flag, epoch;
};

[[gnu::noinline]] Status run_packets_with_gaps(Plan& plan, const Buffers& buffers, const PacketRound& round) {
  ControlBlock& control = *plan.control;
  const std::size_t block = plan.shape.block_bytes, stride = packet_stride(plan);
  const int rank = plan.group.index(), size = plan.group.size();
  write_packets(round.mine, round.flag, buffers.sent(0, block * size));
  if (!plan.shape.in_place) copy_part(buffers.received(rank * block, block), buffers.sent(rank * block, block));
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const Stretch stretch{peer, control.packets(round.epoch & 1, peer, stride), rank * block, block};
    CROSSRAIL_TRY(read_packets(control, round.flag, stretch, buffers.received(peer * block, block)));
  }
  control.seen_all(round.epoch);
  return {};
}

Status run_packets(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const std::size_t block = plan.shape.block_bytes;
  const int rank = plan.group.index();
  const int size = plan.group.size();
  const std::size_t stride = packet_stride(plan);
  const std::uint64_t epoch = control.next_epoch();
  const std::uint64_t flag = control.flag(epoch);
  const int half = epoch & 1;
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  Packet* const mine = control.packets(half, rank, stride);
  plan.last.staged_bytes += block * size;
  if (block == 0) raise_flag(mine->flag, flag);
  if (buffers.send_gaps != nullptr || buffers.recv_gaps != nullptr) return run_packets_with_gaps(plan, buffers, {mine, flag, epoch});
  write_packets(mine, flag, buffers.send, block * size);
  if (!plan.shape.in_place) copy_block(buffers.recv + rank * block, buffers.send + rank * block, block);
  for (int step = 1; step < size; ++step) {
    const int peer = rank + step < size ? rank + step : rank + step - size;
    CROSSRAIL_TRY(read_packets(control, flag, {peer, control.packets(half, peer, stride), rank * block, block},
                               buffers.recv + peer * block));
  }
  control.seen_all(epoch);
  return {};
}

// Prefetches the beginning of a block that is ready a few peers ahead while other blocks are copied.
void prefetch(const Word& staged, std::uint64_t flag, const std::byte* block, std::size_t bytes) {
  constexpr std::size_t kReach = 4 * kCacheLineBytes;
  if (staged.load(std::memory_order_relaxed) != flag) return;
  for (std::size_t line = 0; line < std::min(bytes, kReach); line += kCacheLineBytes) __builtin_prefetch(block + line);
}

Status run_chunk(Plan& plan, const Buffers& buffers, std::size_t from, std::size_t bytes) {
  ControlBlock& control = *plan.control;
  const std::size_t block = plan.shape.block_bytes;
  const int rank = plan.group.index();
  const int size = plan.group.size();
  const std::uint64_t epoch = control.next_epoch();
  const std::uint64_t flag = control.flag(epoch);
  const int half = epoch & 1;
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  std::byte* const region = control.bulk(half, rank);
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) buffers.sent(peer * block + from, bytes).take(region + peer * bytes, 0, bytes);
  }
  plan.last.staged_bytes += static_cast<std::size_t>(size - 1) * bytes;
  raise_flag(control.my_lines().staged.word[half], flag);
  if (!plan.shape.in_place) copy_part(buffers.received(rank * block + from, bytes), buffers.sent(rank * block + from, bytes));
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const int next = (peer + kPeersAhead) % size;
    prefetch(control.lines(next).staged.word[half], flag, control.bulk(half, next) + rank * bytes, bytes);
    const Word& staged = control.lines(peer).staged.word[half];
    CROSSRAIL_TRY(control.await(peer, [&] { return staged.load(std::memory_order_acquire) == flag; }));
    buffers.received(peer * block + from, bytes).put(control.bulk(half, peer) + rank * bytes, 0, bytes);
  }
  control.seen_all(epoch);
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_one_node(topology).planned(Planning::alone); }

Status plan(Plan& plan) {
  plan.as_they_lie = Plan::AsTheyLie::all;
  const ControlBlockLayout& layout = plan.control->layout();
  const auto size = static_cast<std::uint64_t>(plan.group.size());
  const std::uint64_t longest = std::min<std::uint64_t>(plan.parameter(parameters::packet), layout.packet_count * Packet::kPayloadBytes) / size;
  plan.packets = plan.shape.block_bytes <= longest && layout.packet_count > 0;
  if (plan.packets) {
    plan.serve(0, longest);
    return {};
  }
  plan.serve(layout.packet_count > 0 ? longest + 1 : 0, Plan::kAnySize);
  const std::size_t room = layout.bulk_bytes / size / kCacheLineBytes * kCacheLineBytes;
  plan.chunk_bytes = std::min<std::size_t>(room, plan.parameter(parameters::chunk));
  if (plan.chunk_bytes == 0) return failed(Code::no_memory, "the node's segment has no room for a chunk");
  return {};
}

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.packets) return run_packets(plan, buffers);
  const std::size_t block = plan.shape.block_bytes;
  for (std::size_t from = 0; from < block; from += plan.chunk_bytes) {
    CROSSRAIL_TRY(run_chunk(plan, buffers, from, std::min(plan.chunk_bytes, block - from)));
  }
  return {};
}

}  // namespace crossrail::alltoall::node_shared
