#include "collectives/device_rounds.h"

#include <algorithm>

namespace crossrail::alltoall_device {
namespace {

struct Blocks {
  std::vector<crossrail_block> exchanged, staged;  // one for every rank
};

std::byte* sent_block(const Plan& plan, const Buffers& buffers, const Round& round, int number) {
  const auto at = static_cast<std::size_t>(number);
  if (plan.devices->staged(Window::send)) return plan.devices->scratch(Window::send) + at * plan.devices->chunk();
  return const_cast<std::byte*>(buffers.send) + at * plan.shape.block_bytes + round.from;
}

std::byte* received_block(const Plan& plan, const Buffers& buffers, const Round& round, int number) {
  const auto at = static_cast<std::size_t>(number);
  if (plan.devices->staged(Window::recv)) return plan.devices->scratch(Window::recv) + at * plan.devices->chunk();
  return buffers.recv + at * plan.shape.block_bytes + round.from;
}

void lay_out(Plan& plan, const Buffers& buffers, const Round& round) {
  const bool push = plan.window == Window::recv;
  const int rank = plan.topology->rank;
  const int size = plan.topology->size;
  auto& blocks = plan.kept<Blocks>().exchanged;
  blocks[0] = {received_block(plan, buffers, round, rank), sent_block(plan, buffers, round, rank), round.bytes};
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    std::byte* const theirs = plan.devices->block({peer, plan.window, static_cast<std::size_t>(rank), round.from});
    blocks[static_cast<std::size_t>(step)] = {push ? theirs : received_block(plan, buffers, round, peer),
                                              push ? sent_block(plan, buffers, round, peer) : theirs, round.bytes};
  }
}

// A kernel moves byte by byte where the two ends of a block are odd to each other: copy engines do not
// care. Each rank may choose for itself.
crossrail_engine engine_for(const Plan& plan, const Round& round, crossrail_engine wanted) {
  constexpr std::size_t kWorthAStart = 128 * 1024;
  constexpr std::uintptr_t kWordMask = 3;
  if (wanted != CROSSRAIL_ENGINE_KERNEL || round.bytes < kWorthAStart) return wanted;
  std::uintptr_t apart = 0;
  for (const crossrail_block& block : plan.kept<Blocks>().exchanged) {
    apart |= reinterpret_cast<std::uintptr_t>(block.to) ^ reinterpret_cast<std::uintptr_t>(block.from);
  }
  return (apart & kWordMask) == 0 ? wanted : CROSSRAIL_ENGINE_COPY;
}

struct Pieces {
  std::byte* user;
  const DeviceLayout* layout;
  bool unpack;
};

// Between a side of the program's and memory of ours, every block's piece of the round.
Status move_staged(Plan& plan, const Pieces& pieces, const Round& round) {
  DeviceBoard& devices = *plan.devices;
  std::byte* const ours = devices.scratch(pieces.unpack ? Window::recv : Window::send);
  auto& blocks = plan.kept<Blocks>().staged;
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    std::byte* const piece = ours + number * devices.chunk();
    const std::size_t first = number * plan.shape.block_bytes + round.from;
    if (pieces.layout != nullptr) {
      const DeviceLayout& layout = *pieces.layout;
      CROSSRAIL_TRY(devices.pack({layout.segments.data(), layout.segments.size(), layout.id, layout.element_bytes, layout.extent,
                                  pieces.user, piece, first, round.bytes, pieces.unpack ? 1 : 0, nullptr}));
      blocks[number] = {piece, piece, 0};
    } else {
      std::byte* const user = pieces.user + first;
      blocks[number] = {pieces.unpack ? user : piece, pieces.unpack ? piece : user, round.bytes};
    }
  }
  return devices.copy_local(blocks);
}

Status run_round(Plan& plan, const Buffers& buffers, const Round& round, crossrail_engine engine) {
  DeviceBoard& devices = *plan.devices;
  const bool pull = plan.window == Window::send;
  CROSSRAIL_TRY(stage_in(plan, buffers, round));
  // In place, peers write over what is being staged; in later rounds, over what is still being taken
  // out; and who pulls must find it there.
  if (plan.shape.in_place || round.from > 0 || (pull && devices.any_staged(Window::send))) {
    if (devices.staged(Window::send)) CROSSRAIL_TRY(devices.await_local());
    CROSSRAIL_TRY(plan.board->meet());
  }
  lay_out(plan, buffers, round);
  CROSSRAIL_TRY(devices.exchange(plan.kept<Blocks>().exchanged, engine_for(plan, round, engine)));
  return stage_out(plan, buffers, round);
}

}  // namespace

Status stage_in(Plan& plan, const Buffers& buffers, const Round& round) {
  if (!plan.devices->staged(Window::send)) return {};
  const DeviceLayout* layout = plan.shape.in_place ? buffers.recv_layout : buffers.send_layout;
  return move_staged(plan, {const_cast<std::byte*>(buffers.send), layout, false}, round);
}

Status stage_out(Plan& plan, const Buffers& buffers, const Round& round) {
  if (!plan.devices->staged(Window::recv)) return {};
  CROSSRAIL_TRY(move_staged(plan, {buffers.recv, buffers.recv_layout, true}, round));
  return plan.devices->await_local();
}

Status plan_windows(Plan& plan, Window window) {
  const auto ranks = static_cast<std::size_t>(plan.topology->size);
  plan.window = window;
  plan.keep(Blocks{std::vector<crossrail_block>(ranks), std::vector<crossrail_block>(ranks)});
  return {};
}

Status run_windows(Plan& plan, const Buffers& buffers, crossrail_engine engine) {
  CROSSRAIL_TRY(plan.devices->open_windows(plan.window));
  const std::size_t block = plan.shape.block_bytes;
  const std::size_t chunk = plan.devices->chunk();
  for (std::size_t from = 0; from < block; from += chunk) {
    CROSSRAIL_TRY(run_round(plan, buffers, {from, std::min(chunk, block - from)}, engine));
  }
  return {};
}

}  // namespace crossrail::alltoall_device
