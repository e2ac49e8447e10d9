// What   p-1 steps; in step s every rank exchanges one block with one partner: rank XOR s where p
//        is a power of two, otherwise to rank+s and from rank-s.
// When   Large blocks on many ranks: never more than one message in flight each way.
// Cost   (p-1)(a + mb).
// Needs  Nothing; in place, a copy of the whole buffer. Parameters: piece (bytes of a long block in one message, 4 MiB; 512 KiB
//        for each of the rank's processes where that is more), processes (of each rank, including its helper processes, that share long messages).
// From   OHIO paper, section III-A (partners of a step) and Table I.

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "collectives/alltoall/send_side.h"
#include "collectives/pairwise_devices.h"
#include "collectives/parameters.h"
#include "collectives/partners.h"

namespace crossrail::alltoall::pairwise {
namespace {

struct State {
  PairwisePieces pieces;
  std::vector<Block> blocks;  // It has the blocks of every member on both sides, for devices.
};

// Returns the largest part of a block that is one message. With pieces, the next one is being staged while one is sent.
std::size_t piece_bytes(const Plan& plan) {
  constexpr std::uint64_t kLeast = 64 * 1024;
  return plan.shared_bytes(std::max(kLeast, plan.parameter(parameters::piece)));
}

Status run_on_devices(Plan& plan, const Buffers& buffers) {
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const auto& state = plan.kept<State>();
  Buffers blocks = buffers;
  blocks.out = blocks.in = state.blocks.data();
  return run_pairwise_on_devices(plan, blocks, state.pieces);
}

void plan_on_devices(Plan& plan) {
  const std::size_t block = plan.shape.block_bytes, unit = round_up(block, PairwisePieces::kUnit);
  if (plan.devices == nullptr || plan.topology->one_node() || block == 0) return;
  const auto size = static_cast<std::size_t>(plan.group.size());
  auto& state = plan.kept<State>();
  for (std::size_t member = 0; member < size; ++member) state.blocks.push_back({static_cast<std::ptrdiff_t>(member * block), block});
  state.pieces.at_a_time = std::min(round_up(state.pieces.piece, PairwisePieces::kUnit), unit * (size - 1));
  state.pieces.most_blocks = std::max<std::size_t>(1, state.pieces.at_a_time / unit);
  plan.device_block_bytes = block;
  plan_pairwise_on_devices(plan, state.pieces, run_on_devices);
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) { return fit_send_copy(topology, shape); }

Status plan(Plan& plan) {
  plan.share_with_helpers(plan.parameter(parameters::processes));
  plan.keep(State{{piece_bytes(plan), 0, 0, nullptr}, {}});
  plan_on_devices(plan);
  return plan_messages(plan);
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  const Group group = plan.group;
  const std::size_t piece = plan.kept<State>().pieces.piece;
  const std::byte* send = send_side(plan, buffers);
  copy_own_block(plan, buffers);
  for (int step = 1; step < group.size(); ++step) {
    const auto [to, from] = partners_of(group, step);
    for (std::size_t at = 0; at < block; at += piece) {
      CROSSRAIL_TRY(plan.receive(group[from], buffers.recv + from * block + at, std::min(piece, block - at)));
    }
    for (std::size_t at = 0; at < block; at += piece) {
      CROSSRAIL_TRY(plan.send(group[to], send + to * block + at, std::min(piece, block - at)));
    }
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace crossrail::alltoall::pairwise
