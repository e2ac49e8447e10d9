// What   Few elements: every rank writes its own in packets, cache lines that hold data and flag together, and combines all ranks'
//        as they appear. Many: part by part, every rank stages its elements in its region of the node's segment, combines its
//        share of all ranks' there, and copies the others' shares out.
// When   One node.
// Cost   Packets: one flag latency + pm read and combined by every rank, m bytes of elements. Parts: two flag latencies a part + 2m copied
//        and 2m read and combined.
// Needs  A shared segment on the node. Parameters: packet (most bytes of elements that travel in packets), part (most bytes of them that
//        are staged in one epoch).
// From   Ours; reduce-scatter and allgather as in Rabenseifner 2004. Epochs and halves are explained in transport/control_block.h.

#include <algorithm>

#include "collectives/allreduce/node_part.h"
#include "collectives/parameters.h"

namespace crossrail::allreduce::node_shared {
namespace {

constexpr int kPeersAhead = 4;
constexpr int kMostRanks = 4095;  // for packets

// Whole elements only.
std::size_t packet_elements(const Combiner& by) { return Packet::kPayloadBytes / by.element_bytes; }

void write_packets(Packet* packet, std::uint64_t flag, const Elements& elements, const Combiner& by) {
  const std::size_t most = packet_elements(by);
  for (std::size_t first = 0; first < elements.count; first += most, ++packet) {
    copy_block(packet->payload, elements.send + first * by.element_bytes, std::min(most, elements.count - first) * by.element_bytes);
    packet->flag.store(flag, std::memory_order_release);
  }
}

// What all ranks have written in their packet of this number.
struct Column {
  std::uint64_t flag;
  int half;
  std::size_t stride, number, count;
};

Status combine_column(ControlBlock& control, const Combiner& by, const Column& column, std::byte* to) {
  std::byte blocks[Tree::room(kMostRanks, Packet::kPayloadBytes)];
  const int size = control.node_size();
  const auto operand = [&](int peer, const std::byte*& at) -> Status {
    if (peer + kPeersAhead < size) __builtin_prefetch(control.packets(column.half, peer + kPeersAhead, column.stride) + column.number);
    const Packet& packet = control.packets(column.half, peer, column.stride)[column.number];
    CROSSRAIL_TRY(control.await(peer, [&] { return packet.flag.load(std::memory_order_acquire) == column.flag; }));
    at = packet.payload;
    return {};
  };
  if (size > 1) return Tree(by, size, blocks, Packet::kPayloadBytes).combine(column.count, to, operand);
  const std::byte* own = nullptr;
  CROSSRAIL_TRY(operand(0, own));
  copy_block(to, own, column.count * by.element_bytes);
  return {};
}

Status run_packets(Plan& plan, const Elements& elements) {
  ControlBlock& control = *plan.control;
  const Combiner by = combiner_of(plan);
  const std::size_t most = packet_elements(by), stride = (elements.count + most - 1) / most;
  const std::uint64_t epoch = control.next_epoch(), flag = control.flag(epoch);
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  const int half = epoch & 1;
  write_packets(control.packets(half, control.node_rank(), stride), flag, elements, by);
  for (std::size_t number = 0; number < stride; ++number) {
    const std::size_t first = number * most;
    const Column column{flag, half, stride, number, std::min(most, elements.count - first)};
    CROSSRAIL_TRY(combine_column(control, by, column, elements.recv + first * by.element_bytes));
  }
  control.seen_all(epoch);
  return {};
}

Status run_part(Plan& plan, const Elements& elements) {
  ControlBlock& control = *plan.control;
  const std::size_t element_bytes = combiner_of(plan).element_bytes;
  const std::uint64_t epoch = control.next_epoch();
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  const Shares shares{elements.count, (kCacheLineBytes + element_bytes - 1) / element_bytes, control.node_size()};
  const Regions regions{control.bulk(epoch & 1, 0), control.layout().bulk_bytes};
  NodePart part(plan, elements, shares, {regions, epoch});
  part.stage();
  CROSSRAIL_TRY(part.reduce());
  return part.collect();
}

}  // namespace

bool fits(const Topology& topology, const Shape& shape) {
  return topology.one_node() && topology.shared_segment && is_defined(shape.reduction);
}

Status plan(Plan& plan) {
  const ControlBlockLayout& layout = plan.control->layout();
  const std::size_t element_bytes = combiner_of(plan).element_bytes;
  const std::size_t in_packets = Packet::kPayloadBytes / element_bytes * element_bytes * layout.packet_count;
  const std::size_t staged = std::min<std::size_t>(layout.bulk_bytes, plan.parameter(parameters::part)) / element_bytes * element_bytes;
  const bool few = plan.shape.block_bytes <= plan.parameter(parameters::packet) || staged == 0;
  plan.packets = few && plan.control->node_size() <= kMostRanks;
  plan.chunk_bytes = plan.packets ? in_packets : staged;
  if (plan.chunk_bytes == 0) return failed(Code::no_memory, "the node's segment has no room for an element");
  return plan.packets ? Status{} : plan.reserve_scratch(NodePart::scratch_bytes(plan.control->node_size()));
}

Status run(Plan& plan, const Buffers& buffers) {
  const auto reduce = [&](const Elements& part) { return plan.packets ? run_packets(plan, part) : run_part(plan, part); };
  return in_parts(elements_of(plan, buffers), combiner_of(plan).element_bytes, plan.chunk_bytes, reduce);
}

}  // namespace crossrail::allreduce::node_shared
