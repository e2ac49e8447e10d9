// What   p-1 steps; in step s every rank exchanges one block with one partner: rank XOR s where p
//        is a power of two, otherwise to rank+s and from rank-s. Empty blocks are no messages.
// When   Large blocks on many ranks: never more than one message in flight each way.
// Cost   At most (p-1)a, and every rank's bytes.
// Needs  Nothing. Parameters: piece (bytes of a long block in one message, 4 MiB; 512 KiB for each of the rank's processes where that is more),
//        processes (of each rank, including its helper processes, that share long messages).
// From   OHIO paper, section III-A (partners of a step) and Table I.

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "collectives/alltoallv/messages.h"
#include "collectives/device_lengths.h"
#include "collectives/pairwise_devices.h"
#include "collectives/parameters.h"
#include "collectives/partners.h"

namespace crossrail::alltoallv::pairwise {
namespace {

struct State {
  std::size_t piece;              // No message takes more of a block.
  std::vector<std::size_t> came;  // They count what has arrived from each member.
  PairwisePieces pieces() { return {piece, piece, came.size(), &came}; }
};

std::size_t piece_bytes(const Plan& plan) {
  constexpr std::uint64_t kLeast = 64 * 1024;
  const std::size_t piece = plan.shared_bytes(std::max(kLeast, plan.parameter(parameters::piece)));
  // The piece is a line longer than requested. Otherwise a block of exactly two pieces would need a third, empty one to mark its end (messages.h).
  return std::min(round_up(piece, kCacheLineBytes) + kCacheLineBytes, Links::kMostPiece);
}

Status run_on_devices(Plan& plan, const Buffers& buffers) {
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  CROSSRAIL_TRY(check_lengths(*plan.devices, plan.topology->node_ranks()));
  return run_pairwise_on_devices(plan, buffers, plan.kept<State>().pieces());
}

}  // namespace

Fit fit(const Topology&, const Shape&) { return {}; }

Status plan(Plan& plan) {
  plan.share_with_helpers(plan.parameter(parameters::processes));
  plan.keep(State{piece_bytes(plan), std::vector<std::size_t>(static_cast<std::size_t>(plan.group.size()))});
  plan_pairwise_on_devices(plan, plan.kept<State>().pieces(), run_on_devices);
  return plan.links->open_messages();
}

Status run(Plan& plan, const Buffers& buffers) {
  const Group group = plan.group;
  auto& state = plan.kept<State>();
  copy_own_block(plan, buffers);
  for (int step = 1; step < group.size(); ++step) {
    const auto [to, from] = partners_of(group, step);
    std::size_t& came = state.came[static_cast<std::size_t>(from)] = 0;
    CROSSRAIL_TRY(receive_block(plan, buffers, {from, came, state.piece}));
    CROSSRAIL_TRY(send_block(plan, buffers, to, state.piece));
    CROSSRAIL_TRY(plan.links->wait_posted());
    buffers.came_from(from, came);
  }
  return {};
}

}  // namespace crossrail::alltoallv::pairwise
