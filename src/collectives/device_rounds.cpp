#include "collectives/device_rounds.h"

#include <numeric>

namespace crossrail {
namespace {

void lay_out(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  const bool push = plan.mapped == MappedSide::recv;
  const int rank = plan.group.index();
  const int size = plan.group.size();
  auto& blocks = plan.device_blocks.exchanged;
  blocks[0] = {received_block(plan, buffers, round, rank), sent_block(plan, buffers, round, rank), round.bytes};
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    std::byte* const theirs = plan.devices->block({peer, plan.mapped, static_cast<std::size_t>(rank), round.from});
    blocks[static_cast<std::size_t>(step)] = {push ? theirs : received_block(plan, buffers, round, peer),
                                              push ? sent_block(plan, buffers, round, peer) : theirs, round.bytes};
  }
}

}  // namespace

crossrail_engine engine_for(const Plan& plan, const DeviceRound& round, crossrail_engine wanted) {
  constexpr std::size_t kWorthAStart = 128 * 1024;
  constexpr std::uintptr_t kWordMask = 3;
  if (wanted != CROSSRAIL_ENGINE_KERNEL || round.bytes < kWorthAStart) return wanted;
  std::uintptr_t apart = 0;
  for (const crossrail_block& block : plan.device_blocks.exchanged) {
    apart |= reinterpret_cast<std::uintptr_t>(block.to) ^ reinterpret_cast<std::uintptr_t>(block.from);
  }
  return (apart & kWordMask) == 0 ? wanted : CROSSRAIL_ENGINE_COPY;
}

namespace {

struct Pieces {
  std::byte* user;
  const DeviceLayout* layout;
  bool unpack;
};

// Between a side of the program's and memory of ours, every block's piece of the round.
Status begin_staged(Plan& plan, const Pieces& pieces, const DeviceRound& round, DeviceWork& work) {
  DeviceQueue& queue = plan.devices->queue();
  std::byte* const ours = plan.devices->staging(pieces.unpack ? MappedSide::recv : MappedSide::send);
  auto& blocks = plan.device_blocks.staged;
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    std::byte* const piece = ours + number * plan.devices->chunk();
    const std::size_t first = number * round.block + round.from, bytes = round.of(static_cast<int>(number));
    if (pieces.layout != nullptr && bytes > 0) {
      const DeviceLayout& layout = *pieces.layout;
      CROSSRAIL_TRY(queue.begin_packing({layout.segments.data(), layout.segments.size(), layout.id, layout.element_bytes, layout.extent,
                                         pieces.user, piece, first, bytes, pieces.unpack ? 1 : 0, nullptr}));
      blocks[number] = {piece, piece, 0};
    } else {
      std::byte* const user = pieces.user + first;
      blocks[number] = {pieces.unpack ? user : piece, pieces.unpack ? piece : user, pieces.layout == nullptr ? bytes : 0};
    }
  }
  return queue.begin_copies(blocks, work);
}

Status run_round(Plan& plan, const Buffers& buffers, const DeviceRound& round, crossrail_engine engine) {
  DeviceSharing& devices = *plan.devices;
  const bool pull = plan.mapped == MappedSide::send;
  DeviceWork staging, exchange;
  CROSSRAIL_TRY(stage_in(plan, buffers, round, staging));
  // In place, peers write over what is being staged; in later rounds, over what is still being taken
  // out; and who pulls must find it there.
  if (plan.shape.in_place || round.from > 0 || (pull && devices.any_staged(MappedSide::send))) {
    if (devices.staged(MappedSide::send)) CROSSRAIL_TRY(devices.queue().finish(staging));
    CROSSRAIL_TRY(plan.control->barrier());
  }
  lay_out(plan, buffers, round);
  CROSSRAIL_TRY(devices.queue().begin_exchange(plan.device_blocks.exchanged, engine_for(plan, round, engine), exchange));
  CROSSRAIL_TRY(devices.queue().finish(exchange));
  return stage_out(plan, buffers, round);
}

Status enqueue_round(Plan& plan, const Buffers& buffers, const DeviceRound& whole, crossrail_engine engine) {
  DeviceSharing& devices = *plan.devices;
  CROSSRAIL_TRY(devices.streams().check_peers());
  if (devices.any_staged(plan.mapped)) return failed(Code::unsupported, "some rank's memory cannot be mapped by others");
  CROSSRAIL_TRY(devices.map_peers(plan.mapped));
  devices.keep_mapped(plan.mapped);
  lay_out(plan, buffers, whole);
  CROSSRAIL_TRY(devices.streams().barrier(buffers.stream));
  CROSSRAIL_TRY(devices.streams().exchange(buffers.stream, plan.device_blocks.exchanged, engine));
  return devices.streams().barrier(buffers.stream);
}

}  // namespace

std::byte* sent_block(const Plan& plan, const Buffers& buffers, const DeviceRound& round, int number) {
  const auto at = static_cast<std::size_t>(number);
  if (plan.devices->staged(MappedSide::send)) return plan.devices->staging(MappedSide::send) + at * plan.devices->chunk();
  return const_cast<std::byte*>(buffers.send) + at * round.block + round.from;
}

std::byte* received_block(const Plan& plan, const Buffers& buffers, const DeviceRound& round, int number) {
  const auto at = static_cast<std::size_t>(number);
  if (plan.devices->staged(MappedSide::recv)) return plan.devices->staging(MappedSide::recv) + at * plan.devices->chunk();
  return buffers.recv + at * round.block + round.from;
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

Status stage_out(Plan& plan, const Buffers& buffers, const DeviceRound& round) {
  if (!plan.devices->staged(MappedSide::recv)) return {};
  DeviceWork work;
  CROSSRAIL_TRY(begin_staged(plan, {buffers.recv, buffers.recv_layout, true}, round, work));
  return plan.devices->queue().finish(work);
}

Status plan_order(Plan& plan) {
  if (plan.shape.order == Order::call) return {};
  CROSSRAIL_TRY(plan.devices->queue().may_wait_for_peers());
  return plan.devices->streams().open(receive_buffer_bytes(plan));
}

Status plan_mapped(Plan& plan, MappedSide side) {
  const auto ranks = static_cast<std::size_t>(plan.group.size());
  plan.mapped = side;
  plan.device_blocks = {std::vector<crossrail_block>(ranks), std::vector<crossrail_block>(ranks)};
  return plan_order(plan);
}

Status run_mapped(Plan& plan, const Buffers& buffers, crossrail_engine engine) {
  const std::size_t block = plan.shape.block_bytes;
  if (plan.shape.order == Order::stream) return enqueue_round(plan, buffers, round_of(plan, 0, block), engine);
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t chunk = plan.devices->chunk();
  for (std::size_t from = 0; from < block; from += chunk) {
    CROSSRAIL_TRY(run_round(plan, buffers, round_of(plan, from, std::min(chunk, block - from)), engine));
  }
  return {};
}

}  // namespace crossrail
