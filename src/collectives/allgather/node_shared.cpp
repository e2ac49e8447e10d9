// What   Every rank copies its block into its region of the node's segment; the others fetch it from there. Short blocks travel in
//        packets, cache lines that hold data and flag together; long ones part by part, one flag each.
// When   One node.
// Cost   One flag latency a part + m staged and pm fetched by every rank. Alternating halves: no closing barrier.
// Needs  A shared segment on the node. Parameters: packet (longest block that travels in packets), part (most of a block in one epoch),
//        uncached (least bytes of all blocks that are written past the caches).
// From   Ours; epochs and halves are explained in transport/control_block.h.

#include <algorithm>

#include "collectives/allgather/own_block.h"
#include "collectives/packets.h"
#include "collectives/results.h"

namespace crossrail::allgather::node_shared {
namespace {

std::size_t packet_stride(std::size_t block) { return (block + Packet::kPayloadBytes - 1) / Packet::kPayloadBytes; }

Status run_packets(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const std::size_t block = plan.shape.block_bytes, stride = packet_stride(block);
  const int rank = plan.group.index(), size = plan.group.size();
  const std::uint64_t epoch = control.next_epoch(), flag = control.flag(epoch);
  const int half = epoch & 1;
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  write_packets(control.packets(half, rank, stride), flag, own_block(plan, buffers), block);
  plan.last.staged_bytes += block;
  copy_own(plan, buffers, 0, block);
  for (int step = 1; step < size; ++step) {
    const int peer = rank + step < size ? rank + step : rank + step - size;
    CROSSRAIL_TRY(read_packets(control, flag, {peer, control.packets(half, peer, stride), 0, block}, received(plan, buffers, peer)));
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
  copy_in_cache(control.bulk(half, rank), own_block(plan, buffers) + from, bytes);
  plan.last.staged_bytes += bytes;
  control.post(filled, epoch);
  copy_own(plan, buffers, from, bytes);
  const CopyResults copy_result = copy_of_results(plan, static_cast<std::size_t>(size) * plan.shape.block_bytes);
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    CROSSRAIL_TRY(control.wait(peer, filled, epoch));
    copy_result(received(plan, buffers, peer) + from, control.bulk(half, peer), bytes);
  }
  control.seen_all(epoch);
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_one_node(topology).planned(Planning::alone); }

Status plan(Plan& plan) {
  const ControlBlockLayout& layout = plan.control->layout();
  plan.chunk_bytes = std::min<std::size_t>(layout.bulk_bytes, plan.parameter(parameters::part));
  const std::uint64_t wanted = plan.chunk_bytes == 0 ? Plan::kAnySize : plan.parameter(parameters::packet);
  const std::uint64_t longest = std::min<std::uint64_t>(wanted, layout.packet_count * Packet::kPayloadBytes);
  plan.packets = plan.shape.block_bytes <= longest;
  plan.serve(plan.packets ? 0 : longest + 1, plan.packets ? longest : Plan::kAnySize);
  return plan.packets || plan.chunk_bytes > 0 ? Status{} : failed(Code::no_memory, "the node's segment has no room for a part of a block");
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

}  // namespace crossrail::allgather::node_shared
