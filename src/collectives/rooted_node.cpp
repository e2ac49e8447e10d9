#include "collectives/rooted_node.h"

#include <algorithm>

#include "collectives/parameters.h"

namespace crossrail {

Status RootedNode::plan(Plan& plan) {
  const ControlBlockLayout& layout = plan.control->layout();
  plan.chunk_bytes = std::min<std::size_t>(layout.bulk_bytes, plan.parameter(parameters::part));
  const std::uint64_t wanted = plan.chunk_bytes == 0 ? Plan::kAnySize : plan.parameter(parameters::packet);
  const std::uint64_t longest = std::min<std::uint64_t>(wanted, layout.packet_count * Packet::kPayloadBytes);
  plan.packets = plan.shape.block_bytes <= longest;
  plan.serve(plan.packets ? 0 : longest + 1, plan.packets ? longest : Plan::kAnySize);
  stride_ = plan.packets ? std::max<std::size_t>(1, (longest + Packet::kPayloadBytes - 1) / Packet::kPayloadBytes) : 1;
  for (auto& readers : readers_) readers.assign(static_cast<std::size_t>(layout.node_size), 0);
  const bool room = plan.packets || (plan.chunk_bytes > 0 && layout.packet_count > 0);
  return room ? Status{} : failed(Code::no_memory, "the node's segment has no room for a part of a block");
}

void RootedNode::put(Plan& plan, const Chunk& chunk, int region, const std::byte* from) {
  Packet* const packets = packets_of(*plan.control, chunk, region);
  plan.last.staged_bytes += chunk.bytes;
  if (plan.packets) return write_packets(packets, chunk.flag, from, chunk.bytes);
  copy_in_cache(plan.control->bulk(chunk.half(), region), from, chunk.bytes);
  raise_flag(packets->flag, chunk.flag);
}

Status RootedNode::take(Plan& plan, const Chunk& chunk, const Source& source, std::byte* to) {
  ControlBlock& control = *plan.control;
  const Packet* const packets = packets_of(control, chunk, source.region);
  if (plan.packets) return read_packets(control, chunk.flag, {source.writer, packets, 0, chunk.bytes}, to);
  CROSSRAIL_TRY(control.await(source.writer, [&] { return packets->flag.load(std::memory_order_acquire) == chunk.flag; }));
  copy_in_cache(to, control.bulk(chunk.half(), source.region), chunk.bytes);
  return {};
}

Status RootedNode::leave_for(Plan& plan, int root, const std::byte* from, const Chunk& chunk) {
  ControlBlock& control = *plan.control;
  auto& readers = readers_[chunk.half()];
  CROSSRAIL_TRY(control.wait_until_read(chunk.epoch, plan.number, readers));
  std::fill(readers.begin(), readers.end(), std::uint8_t{0});
  readers[static_cast<std::size_t>(root)] = 1;
  put(plan, chunk, control.node_rank(), from);
  return {};
}

Status RootedNode::take_from(Plan& plan, int root, std::byte* to, const Chunk& chunk) {
  ControlBlock& control = *plan.control;
  control.writes_nothing(chunk.epoch, plan.number);
  CROSSRAIL_TRY(take(plan, chunk, {control.node_rank(), root}, to));
  control.seen(root, chunk.epoch);
  return {};
}

}  // namespace crossrail
