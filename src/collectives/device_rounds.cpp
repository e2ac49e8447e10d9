#include "collectives/device_rounds.h"

#include "collectives/device_packets.h"

#include <algorithm>
#include <numeric>

namespace crossrail {
namespace {

// Lays out the sender's blocks in a call that pushes and the receiver's otherwise, for all ranks for which this one launches.
void lay_out(Plan& plan, const Buffers& buffers, const DeviceRound& round, MappedSide side) {
  const int size = plan.group.size();
  const bool push = side == MappedSide::recv;
  std::size_t next = 0;
  for (int step = 0; step < size; ++step) {
    for (const int owner : plan.device_blocks.launched) {
      const int peer = (owner + step) % size;
      const int sender = push ? owner : peer, receiver = push ? peer : owner;
      plan.device_blocks.exchanged[next++] = {block_of(plan, buffers, round, {receiver, MappedSide::recv, sender}),
                                              block_of(plan, buffers, round, {sender, MappedSide::send, receiver}), round.bytes};
    }
  }
}

}  // namespace

crossrail_engine engine_for(const Plan& plan, crossrail_engine wanted) {
  constexpr std::size_t kWorthAStart = 128 * 1024;
  constexpr std::uintptr_t kWordMask = 3;
  if (wanted != CROSSRAIL_ENGINE_KERNEL) return wanted;
  for (const crossrail_block& block : plan.device_blocks.exchanged) {
    const auto apart = reinterpret_cast<std::uintptr_t>(block.to) ^ reinterpret_cast<std::uintptr_t>(block.from);
    if (block.bytes >= kWorthAStart && (apart & kWordMask) != 0) return CROSSRAIL_ENGINE_COPY;
  }
  return wanted;
}

crossrail_engine engine_for_length(const Plan& plan, std::uint64_t bytes, std::uint64_t threshold) {
  return bytes >= threshold && plan.devices->queue().devices().size() > 1 ? CROSSRAIL_ENGINE_COPY : CROSSRAIL_ENGINE_KERNEL;
}

namespace {

struct Pieces {
  std::byte* user;
  const DeviceLayout* layout;
  bool unpack;
};

// Moves every block's piece of the round between a side of the program's and staging memory.
Status begin_staged(Plan& plan, const Pieces& pieces, const DeviceRound& round, DeviceWork& work) {
  DeviceQueue& queue = plan.devices->queue();
  std::byte* const ours = plan.devices->staging(pieces.unpack ? MappedSide::recv : MappedSide::send);
  auto& blocks = plan.device_blocks.staged;
  auto& movements = plan.device_blocks.movements;
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    std::byte* const piece = ours + number * plan.devices->chunk();
    const std::size_t first = round.begin(static_cast<int>(number)), bytes = round.of(static_cast<int>(number));
    if (pieces.layout != nullptr) {
      const crossrail_elements user = pieces.layout->elements(pieces.user, first), staged = device::row(piece);
      movements[number] = {pieces.unpack ? staged : user, pieces.unpack ? user : staged, bytes};
    } else {
      std::byte* const user = pieces.user + first;
      blocks[number] = {pieces.unpack ? user : piece, pieces.unpack ? piece : user, bytes};
    }
  }
  if (pieces.layout == nullptr) return queue.begin_copies(blocks, work);
  return queue.begin_movements({movements.data(), blocks.size()}, work, Launch::own);
}

Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round, const MappedExchange& how) {
  DeviceSharing& devices = *plan.devices;
  DeviceWork staging, exchange;
  CROSSRAIL_TRY(stage_in(plan, buffers, round, staging));
  // In place, peers overwrite what is being staged; in later rounds, they overwrite what is still being copied out.
  CROSSRAIL_TRY(meet_staged(plan, staging, plan.shape.in_place || round.from > 0));
  lay_out(plan, buffers, round, how.side);
  CROSSRAIL_TRY(devices.queue().begin_exchange(plan.device_blocks.exchanged, engine_for(plan, how.engine), exchange, Launch::one_a_device));
  CROSSRAIL_TRY(devices.queue().finish(exchange));
  return stage_out(plan, buffers, round);
}

Status enqueue_round(Plan& plan, const Buffers& buffers, const DeviceRound& whole, const MappedExchange& how) {
  CROSSRAIL_TRY(map_for_stream(plan));
  lay_out(plan, buffers, whole, how.side);
  return plan.devices->streams().exchange(buffers.stream, plan.device_blocks.exchanged, how.engine, Meet::both);
}

}  // namespace

Status map_for_stream(Plan& plan) {
  DeviceSharing& devices = *plan.devices;
  CROSSRAIL_TRY(devices.streams().check_peers());
  for (const MappedSide side : {MappedSide::send, MappedSide::recv}) {
    if (includes(plan.mapped, side) && devices.any_staged(side)) return failed(Code::unsupported, "some rank's memory cannot be mapped by others");
  }
  CROSSRAIL_TRY(devices.map_peers(plan.mapped));
  devices.keep_mapped(plan.mapped);
  return {};
}

std::byte* sent_block(const Plan& plan, const Buffers& buffers, const DeviceRound& round, int number) {
  const auto at = static_cast<std::size_t>(number);
  if (plan.devices->staged(MappedSide::send)) return plan.devices->staging(MappedSide::send) + at * plan.devices->chunk();
  return const_cast<std::byte*>(buffers.send) + round.begin(number);
}

std::byte* received_block(const Plan& plan, const Buffers& buffers, const DeviceRound& round, int number) {
  const auto at = static_cast<std::size_t>(number);
  if (plan.devices->staged(MappedSide::recv)) return plan.devices->staging(MappedSide::recv) + at * plan.devices->chunk();
  return buffers.recv + round.begin(number);
}

std::byte* block_of(const Plan& plan, const Buffers& buffers, const DeviceRound& round, const RoundBlock& which) {
  if (which.owner != plan.group.index()) return plan.devices->block({which.owner, which.side, static_cast<std::size_t>(which.number), round.begin(which.number)});
  return which.side == MappedSide::send ? sent_block(plan, buffers, round, which.number) : received_block(plan, buffers, round, which.number);
}

std::size_t device_block_bytes(const Shape& shape, int ranks) {
  const Counts counts = row_of(shape.collective).counts;
  if (counts != Counts::elements) return counts == Counts::block ? shape.block_bytes : 0;
  constexpr std::size_t kUnitBytes = 16;
  const std::size_t grain = std::lcm(kUnitBytes, bytes_of(shape.reduction.element));
  return round_up((shape.block_bytes + static_cast<std::size_t>(ranks) - 1) / static_cast<std::size_t>(ranks), grain);
}

Status stage_in(Plan& plan, const Buffers& buffers, const DeviceRound& round, DeviceWork& work) {
  if (!plan.devices->staged(MappedSide::send)) return {};
  const DeviceLayout* layout = plan.shape.in_place ? buffers.recv_layout : buffers.send_layout;
  return begin_staged(plan, {const_cast<std::byte*>(buffers.send), layout, false}, round, work);
}

Status meet_staged(Plan& plan, const DeviceWork& staging, bool written_over) {
  DeviceSharing& devices = *plan.devices;
  const bool read = includes(plan.mapped, MappedSide::send) && devices.any_staged(MappedSide::send);
  if (!written_over && !read) return {};
  if (devices.staged(MappedSide::send)) CROSSRAIL_TRY(devices.queue().finish(staging));
  return plan.control->barrier();
}

Status stage_out(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  if (!plan.devices->staged(MappedSide::recv)) return {};
  DeviceWork work;
  CROSSRAIL_TRY(begin_staged(plan, {buffers.recv, buffers.recv_layout, true}, round, work));
  return plan.devices->queue().finish(work);
}

Status plan_mapped(Plan& plan, MappedSide side) {
  const auto ranks = static_cast<std::size_t>(plan.group.size());
  plan.mapped = side;
  std::vector<int> launched{plan.group.index()};
  if (side != MappedSide::none && plan.shape.order == Order::call && plan.devices->queue().launches_for_others()) {
    plan.mapped = MappedSide::both;  // The sending side is mapped, too, because the launcher reads it.
    launched = plan.devices->queue().launched();
  }
  const std::size_t moved = ranks * launched.size();
  plan.device_blocks = {std::vector<crossrail_block>(moved), std::vector<crossrail_block>(ranks), std::vector<crossrail_movement>(std::max(moved, ranks)), launched};
  return {};
}

Status run_mapped(Plan& plan, const Buffers& buffers, const MappedExchange& how) {
  const std::size_t block = plan.shape.block_bytes;
  if (plan.shape.order == Order::stream) return enqueue_round(plan, buffers, round_of(plan, 0, block), how);
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t chunk = plan.devices->chunk();
  for (std::size_t from = 0; from < block; from += chunk) {
    CROSSRAIL_TRY(run_round(plan, buffers, round_of(plan, from, std::min(chunk, block - from)), how));
  }
  return {};
}

}  // namespace crossrail
