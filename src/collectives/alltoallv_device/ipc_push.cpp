// What   Every device writes this rank's blocks straight into the receivers' buffers, by one kernel that shares all bytes
//        evenly among its multiprocessors, or, where blocks are long, by its copy engines.
// When   One node, device memory.
// Cost   One meeting of processors, in which every rank says where its blocks go + one kernel launch + the bytes of the
//        rank that has most. Empty blocks cost nothing. Blocks with gaps go from where they lie to where they belong, where a rank launches
//        for itself and the receiver's gaps are runs of one length, equally far from each other; otherwise through rows.
// Needs  Receiving sides in device memory that peers can map, in a row; else, and in place, memory of ours on the way, in
//        rounds where CROSSRAIL_DEVICE_SCRATCH is less. In a stream's order: only what can be mapped, no gaps, always the
//        kernel, which reads lengths and places from arrays of the program's. Parameter: memcpy_threshold (bytes of a rank's longest block).
// From   IPC paper, section III-C.

#include <algorithm>
#include <span>

#include "collectives/algorithm.h"
#include "collectives/alltoallv_device/ipc_push.h"
#include "collectives/device_lengths.h"
#include "collectives/device_rounds.h"
#include "collectives/parameters.h"

namespace crossrail::alltoallv_device::ipc_push {
namespace {

using BlockList = std::vector<crossrail_block>;

// A Round moves `bytes` bytes of every block, from byte `from` on.
struct Round {
  std::size_t from, bytes;
  std::size_t of(std::size_t block) const { return block <= from ? 0 : std::min(bytes, block - from); }
};

struct Pair {
  int sender, receiver;
};

// Returns which of the sender's blocks goes to the receiver. In an allgatherv it is the sender's only block, which has the sender's number.
int sent_number(const Plan& plan, const Pair& pair) {
  return row_of(plan.shape.collective).counts == Counts::table ? pair.sender : pair.receiver;
}
std::size_t bytes_between(const Plan& plan, const Pair& pair) { return plan.devices->place(pair.sender, sent_number(plan, pair)).sent; }

// An OwnSide is one of this rank's sides.
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

// A rank that launches only for itself reads the data where the program has them. No
// other rank needs to map them, and in place they are overwritten only at the end.
bool sends_as_it_lies(const Plan& plan) { return !plan.devices->queue().launches_for_others(); }

// Returns a block of a side that is staged, in this round.
crossrail_elements staged_block(const Plan& plan, MappedSide side, int peer) {
  return device::row(plan.devices->staging(side) + static_cast<std::size_t>(peer) * plan.devices->chunk());
}

const DeviceLayout* layout_of(const OwnSide& side, int peer) { return side.layouts == nullptr ? nullptr : side.layouts[peer]; }

// Returns where a block of the program's lies, with its gaps.
crossrail_elements elements_of(const OwnSide& side, int peer, const Round& round) {
  std::byte* const at = moved(side.base, side.blocks[peer].offset);
  const DeviceLayout* const layout = layout_of(side, peer);
  return layout == nullptr ? device::row(at + round.from) : layout->elements(at, round.from);
}

// Returns where a block of this rank's is found by what moves it.
crossrail_elements own_block(const Plan& plan, const OwnSide& side, int peer, const Round& round) {
  const bool as_it_lies = side.which == MappedSide::send && sends_as_it_lies(plan);
  return plan.devices->staged(side.which) && !as_it_lies ? staged_block(plan, side.which, peer) : elements_of(side, peer, round);
}

bool has_gaps(const crossrail_elements& elements) { return elements.element_bytes != 0; }

// Moves are described as blocks if nothing has gaps.
struct Moves {
  explicit Moves(Plan& plan, BlockList& in) : movements(plan.device_blocks.movements), blocks(in) {}
  void add(const crossrail_elements& to, const crossrail_elements& from, std::size_t bytes) {
    const bool none = bytes == 0 || to.at == from.at;  // In place, a rank's own block is already where it belongs.
    movements[count] = none ? crossrail_movement{} : crossrail_movement{from, to, bytes};
    blocks[count++] = none ? crossrail_block{} : crossrail_block{to.at, from.at, bytes};
    gaps = gaps || (!none && (has_gaps(to) || has_gaps(from)));
  }
  std::span<const crossrail_movement> all() const { return {movements.data(), count}; }

  std::vector<crossrail_movement>& movements;
  BlockList& blocks;
  std::size_t count = 0;
  bool gaps = false;
};

// Lays out the moves between a side of the program's and staging memory. `bytes(peer)` is the size of the whole block.
template <class Bytes>
Moves lay_out_staged(Plan& plan, const OwnSide& side, const Round& round, Bytes bytes) {
  const bool unpack = side.which == MappedSide::recv;
  Moves moves(plan, plan.device_blocks.staged);
  for (int peer = 0; peer < plan.group.size(); ++peer) {
    const crossrail_elements ours = staged_block(plan, side.which, peer), user = elements_of(side, peer, round);
    moves.add(unpack ? user : ours, unpack ? ours : user, round.of(bytes(peer)));
  }
  return moves;
}

Status begin_own(DeviceQueue& queue, const Moves& moves, DeviceWork& work) {
  return moves.gaps ? queue.begin_movements(moves.all(), work, Launch::own) : queue.begin_copies(moves.blocks, work);
}

Status stage_in(Plan& plan, const Buffers& buffers, const Round& round, DeviceWork& work) {
  if (!plan.devices->staged(MappedSide::send) || sends_as_it_lies(plan)) return {};
  return begin_own(plan.devices->queue(), lay_out_staged(plan, sent(buffers), round, [&](int peer) { return buffers.out[peer].bytes; }), work);
}

// Copies exactly what has arrived. If a sender had less, the rest of the program's memory stays unchanged.
Status stage_out(Plan& plan, const Buffers& buffers, const Round& round) {
  DeviceSharing& devices = *plan.devices;
  if (!devices.staged(MappedSide::recv)) return {};
  DeviceWork work;
  const auto arrived = [&](int peer) { return bytes_between(plan, {peer, plan.group.index()}); };
  CROSSRAIL_TRY(begin_own(devices.queue(), lay_out_staged(plan, received(buffers), round, arrived), work));
  return devices.queue().finish(work);
}

// Returns where data from one rank to another go. This rank has both sides mapped.
crossrail_elements target(const Plan& plan, const Buffers& buffers, const Round& round, const Pair& pair) {
  if (pair.receiver == plan.group.index()) return own_block(plan, received(buffers), pair.sender, round);
  return plan.devices->receives(pair.receiver, pair.sender, round.from);
}
crossrail_elements source(const Plan& plan, const Buffers& buffers, const Round& round, const Pair& pair) {
  const int number = sent_number(plan, pair);
  if (pair.sender == plan.group.index()) return own_block(plan, sent(buffers), number, round);
  return device::row(const_cast<std::byte*>(plan.devices->sends_from(pair.sender, number, round.from)));
}

// Covers all ranks for which this rank launches. The order is the rank's own block, then
// rank + 1, rank + 2, ..., so that every device receives from one other device at a time.
Moves lay_out(Plan& plan, const Buffers& buffers, const Round& round) {
  const int size = plan.group.size();
  Moves moves(plan, plan.device_blocks.exchanged);
  for (int step = 0; step < size; ++step) {
    for (const int sender : plan.device_blocks.launched) {
      const Pair pair{sender, (sender + step) % size};
      const std::size_t bytes = round.of(bytes_between(plan, pair));
      if (bytes == 0) moves.add({}, {}, 0);
      else moves.add(target(plan, buffers, round, pair), source(plan, buffers, round, pair), bytes);
    }
  }
  return moves;
}

crossrail_engine engine_of(const Plan& plan) {
  std::size_t longest = 0;
  for (const crossrail_block& block : plan.device_blocks.exchanged) longest = std::max(longest, block.bytes);
  return engine_for(plan, engine_for_length(plan, longest, plan.parameter(parameters::memcpy_threshold)));
}

Status run_round(Plan& plan, const Buffers& buffers, const Round& round) {
  DeviceSharing& devices = *plan.devices;
  DeviceQueue& queue = devices.queue();
  DeviceWork staging, exchange;
  CROSSRAIL_TRY(stage_in(plan, buffers, round, staging));
  CROSSRAIL_TRY(meet_staged(plan, staging, round.from > 0));
  const Moves moves = lay_out(plan, buffers, round);
  CROSSRAIL_TRY(moves.gaps ? queue.begin_movements(moves.all(), exchange, Launch::one_a_device)
                           : queue.begin_exchange(moves.blocks, engine_of(plan), exchange, Launch::one_a_device));
  CROSSRAIL_TRY(queue.finish(exchange));
  return stage_out(plan, buffers, round);
}

// For calls in a stream's order, it says where every rank's receiving side begins.
struct Receivers {
  std::vector<void*> bases;
};

// In a stream's order, the arrays are read, the ranks meet and the blocks are moved when the stream gets there.
Status enqueue(Plan& plan, const Buffers& buffers) {
  DeviceSharing& devices = *plan.devices;
  CROSSRAIL_TRY(devices.streams().check_peers());
  CROSSRAIL_TRY(devices.map_peers(plan.mapped));
  devices.keep_mapped(plan.mapped);
  auto& to = plan.kept<Receivers>().bases;
  for (int peer = 0; peer < plan.group.size(); ++peer) {
    to[static_cast<std::size_t>(peer)] = peer == plan.group.index() ? buffers.recv : devices.block({peer, MappedSide::recv, 0, 0});
  }
  return devices.streams().counted(buffers.stream, {{}, {}, *buffers.counted_send, *buffers.counted_recv, to.data(), nullptr});
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_devices(topology); }

Status plan(Plan& plan) {
  if (plan.shape.order == Order::stream) plan.keep(Receivers{std::vector<void*>(static_cast<std::size_t>(plan.group.size()))});
  return plan_mapped(plan, MappedSide::recv);
}

Status run(Plan& plan, const Buffers& buffers) { return plan.shape.order == Order::stream ? enqueue(plan, buffers) : push_blocks(plan, buffers); }

}  // namespace crossrail::alltoallv_device::ipc_push

namespace crossrail::alltoallv_device {

Status push_blocks(Plan& plan, const Buffers& buffers) {
  const DeviceSharing& devices = *plan.devices;
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const auto sent_by = [&](int sender, int receiver) { return ipc_push::bytes_between(plan, {sender, receiver}); };
  CROSSRAIL_TRY(check_lengths(devices, plan.group, sent_by, plan.device_blocks.launched));
  const std::size_t longest = devices.longest(), chunk = std::min(devices.chunk(), longest);
  for (std::size_t from = 0; from < longest; from += chunk) CROSSRAIL_TRY(ipc_push::run_round(plan, buffers, {from, chunk}));
  return {};
}

}  // namespace crossrail::alltoallv_device
