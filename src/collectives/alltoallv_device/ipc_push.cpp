// What   Every device writes this rank's blocks straight into the receivers' buffers, by one kernel that shares all bytes
//        evenly among its multiprocessors, or, where blocks are long, by its copy engines.
// When   One node, device memory.
// Cost   One meeting of processors, in which every rank says where its blocks go + one kernel launch + the bytes of the
//        rank that has most. Empty blocks cost nothing. Blocks with gaps are packed by a kernel each, straight into the receivers'
//        memory where every rank has a device or launches for itself, and unpacked there by another one.
// Needs  Receiving sides in device memory that peers can map, in a row; else, and in place, memory of ours on the way, in
//        rounds where CROSSRAIL_DEVICE_SCRATCH is less. In a stream's order: only what can be mapped, no gaps, always the
//        kernel, which reads lengths and places from arrays of the program's. Parameter: memcpy_threshold (bytes of a rank's longest block).
// From   IPC paper, section III-C.

#include <algorithm>

#include "collectives/algorithm.h"
#include "collectives/device_lengths.h"
#include "collectives/device_rounds.h"
#include "collectives/parameters.h"

namespace crossrail::alltoallv_device::ipc_push {
namespace {

using BlockList = std::vector<crossrail_block>;

// A round moves so many bytes of every block, from byte `from` on.
struct Round {
  std::size_t from, bytes;
  std::size_t of(std::size_t block) const { return block <= from ? 0 : std::min(bytes, block - from); }
};

struct Pair {
  int sender, receiver;
};

// One of this rank's sides.
struct OwnSide {
  MappedSide which;
  std::byte* base;
  const Block* blocks;
  const DeviceLayout* const* layouts;
};

OwnSide sent(const Buffers& buffers) {
  return {MappedSide::send, const_cast<std::byte*>(buffers.send), buffers.out, buffers.out_layouts};
}
OwnSide received(const Buffers& buffers) { return {MappedSide::recv, buffers.recv, buffers.in, buffers.in_layouts}; }

// Whoever launches for itself alone reads what it sends where the program has it: nobody else need have that mapped, and in place it is
// written over at the end only.
bool sends_as_it_lies(const Plan& plan) { return !plan.devices->queue().launches_for_others(); }

// Where a block of this rank's lies in this round.
std::byte* own_block(const Plan& plan, const OwnSide& side, int peer, const Round& round) {
  const DeviceSharing& devices = *plan.devices;
  const bool as_it_lies = side.which == MappedSide::send && sends_as_it_lies(plan);
  if (devices.staged(side.which) && !as_it_lies) return devices.staging(side.which) + static_cast<std::size_t>(peer) * devices.chunk();
  return moved(side.base, side.blocks[peer].offset) + round.from;
}

// Of a block with gaps, between the program's memory and a row.
struct Packing {
  const OwnSide& side;
  const DeviceLayout& layout;
  int peer;
  std::byte* row;
  std::size_t first, bytes;
};
Status begin_packing(Plan& plan, const Packing& one) {
  const DeviceLayout& layout = one.layout;
  return plan.devices->queue().begin_packing({layout.segments.data(), layout.segments.size(), layout.id, layout.element_bytes, layout.extent,
                                              moved(one.side.base, one.side.blocks[one.peer].offset), one.row, one.first, one.bytes,
                                              one.side.which == MappedSide::recv ? 1 : 0, nullptr});
}

const DeviceLayout* layout_of(const OwnSide& side, int peer) { return side.layouts == nullptr ? nullptr : side.layouts[peer]; }

// Between a side of the program's and memory of ours. `bytes(peer)`: of the whole block.
template <class Bytes>
Status begin_staged(Plan& plan, const OwnSide& side, const Round& round, Bytes bytes) {
  const bool unpack = side.which == MappedSide::recv;
  BlockList& copies = plan.device_blocks.staged;
  for (int peer = 0; peer < plan.group.size(); ++peer) {
    const std::size_t length = round.of(bytes(peer));
    std::byte* const ours = own_block(plan, side, peer, round);
    std::byte* const user = moved(side.base, side.blocks[peer].offset);
    const DeviceLayout* const layout = layout_of(side, peer);
    copies[static_cast<std::size_t>(peer)] = {unpack ? user + round.from : ours, unpack ? ours : user + round.from, layout == nullptr ? length : 0};
    if (layout == nullptr || length == 0) continue;
    CROSSRAIL_TRY(begin_packing(plan, {side, *layout, peer, ours, round.from, length}));
  }
  return {};
}

Status stage_in(Plan& plan, const Buffers& buffers, const Round& round, DeviceWork& work) {
  if (!plan.devices->staged(MappedSide::send) || sends_as_it_lies(plan)) return {};
  CROSSRAIL_TRY(begin_staged(plan, sent(buffers), round, [&](int peer) { return buffers.out[peer].bytes; }));
  return plan.devices->queue().begin_copies(plan.device_blocks.staged, work);
}

// What has come, and no more: where a sender had less, the program's memory stays as it was.
Status stage_out(Plan& plan, const Buffers& buffers, const Round& round) {
  DeviceSharing& devices = *plan.devices;
  if (!devices.staged(MappedSide::recv)) return {};
  CROSSRAIL_TRY(begin_staged(plan, received(buffers), round, [&](int peer) { return devices.place(peer, plan.group.index()).sent; }));
  DeviceWork work;
  CROSSRAIL_TRY(devices.queue().begin_copies(plan.device_blocks.staged, work));
  return devices.queue().finish(work);
}

// What a rank sends to another one, which has it mapped.
crossrail_block block_between(const Plan& plan, const Buffers& buffers, const Round& round, const Pair& pair) {
  const DeviceSharing& devices = *plan.devices;
  const std::size_t bytes = round.of(devices.place(pair.sender, pair.receiver).sent);
  if (bytes == 0) return {nullptr, nullptr, 0};
  const int rank = plan.group.index();
  return {pair.receiver == rank ? own_block(plan, received(buffers), pair.sender, round) : devices.receives_at(pair.receiver, pair.sender, round.from),
          pair.sender == rank ? own_block(plan, sent(buffers), pair.receiver, round) : devices.sends_from(pair.sender, pair.receiver, round.from), bytes};
}

// First the rank's own, then rank + 1, rank + 2, ..., so that every device receives from one other at a time; of all for whom
// this rank launches.
void lay_out(Plan& plan, const Buffers& buffers, const Round& round) {
  const int size = plan.group.size();
  std::size_t next = 0;
  for (int step = 0; step < size; ++step) {
    for (const int sender : plan.device_blocks.launched) {
      plan.device_blocks.exchanged[next++] = block_between(plan, buffers, round, {sender, (sender + step) % size});
    }
  }
}

// What has gaps is packed to where it goes: nothing of it is left to exchange.
Status pack_straight(Plan& plan, const Buffers& buffers, const Round& round) {
  const OwnSide side = sent(buffers);
  if (side.layouts == nullptr || !sends_as_it_lies(plan)) return {};
  const int size = plan.group.size(), rank = plan.group.index();
  for (int step = 0; step < size; ++step) {
    const int peer = (rank + step) % size;
    crossrail_block& block = plan.device_blocks.exchanged[static_cast<std::size_t>(step)];
    const DeviceLayout* const layout = side.layouts[peer];
    if (layout == nullptr || block.bytes == 0) continue;
    CROSSRAIL_TRY(begin_packing(plan, {side, *layout, peer, static_cast<std::byte*>(block.to), round.from, block.bytes}));
    block = {nullptr, nullptr, 0};
  }
  return {};
}

crossrail_engine engine_of(const Plan& plan) {
  std::size_t longest = 0;
  for (const crossrail_block& block : plan.device_blocks.exchanged) longest = std::max(longest, block.bytes);
  return engine_for(plan, engine_for_length(plan, longest, plan.parameter(parameters::memcpy_threshold)));
}

Status run_round(Plan& plan, const Buffers& buffers, const Round& round) {
  DeviceSharing& devices = *plan.devices;
  DeviceWork staging, exchange;
  CROSSRAIL_TRY(stage_in(plan, buffers, round, staging));
  CROSSRAIL_TRY(meet_staged(plan, staging, round.from > 0));
  lay_out(plan, buffers, round);
  CROSSRAIL_TRY(pack_straight(plan, buffers, round));
  CROSSRAIL_TRY(devices.queue().begin_exchange(plan.device_blocks.exchanged, engine_of(plan), exchange, Launch::one_a_device));
  CROSSRAIL_TRY(devices.queue().finish(exchange));
  return stage_out(plan, buffers, round);
}

// Of calls in a stream's order: where every rank's receiving side begins.
struct Receivers {
  std::vector<void*> bases;
};

// In a stream's order: the arrays are read, the ranks meet and the blocks are moved when the stream gets there.
Status enqueue(Plan& plan, const Buffers& buffers) {
  DeviceSharing& devices = *plan.devices;
  CROSSRAIL_TRY(devices.streams().check_peers());
  CROSSRAIL_TRY(devices.map_peers(plan.mapped));
  devices.keep_mapped(plan.mapped);
  auto& to = plan.kept<Receivers>().bases;
  for (int peer = 0; peer < plan.group.size(); ++peer) {
    to[static_cast<std::size_t>(peer)] = peer == plan.group.index() ? buffers.recv : devices.block({peer, MappedSide::recv, 0, 0});
  }
  CROSSRAIL_TRY(devices.streams().counted(buffers.stream, {{}, *buffers.counted_send, *buffers.counted_recv, to.data(), 0, nullptr}));
  return devices.streams().barrier(buffers.stream);
}

}  // namespace

bool fits(const Topology& topology, const Shape&) { return topology.one_node() && topology.shared_segment; }

Status plan(Plan& plan) {
  if (plan.shape.order == Order::stream) plan.keep(Receivers{std::vector<void*>(static_cast<std::size_t>(plan.group.size()))});
  return plan_mapped(plan, MappedSide::recv);
}

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.shape.order == Order::stream) return enqueue(plan, buffers);
  const DeviceSharing& devices = *plan.devices;
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  CROSSRAIL_TRY(check_lengths(devices, plan.group, plan.device_blocks.launched));
  const std::size_t longest = devices.longest(), chunk = std::min(devices.chunk(), longest);
  for (std::size_t from = 0; from < longest; from += chunk) CROSSRAIL_TRY(run_round(plan, buffers, {from, chunk}));
  return {};
}

}  // namespace crossrail::alltoallv_device::ipc_push
