#include "collectives/device_staged.h"

#include <algorithm>

namespace crossrail {

Fit fit_device_staged(const Topology& topology, const Shape& shape) {
  return fit_devices(topology).needs(topology.size > 1, kSeveralRanks).needs(shape.order == Order::stream, kStreamOrder);
}

Status plan_staged(Plan& plan) {
  CROSSRAIL_TRY(plan_mapped(plan, MappedSide::none));
  const bool there = plan.devices->streams().staging(plan.group.index()) != nullptr;
  return there ? Status{} : failed(Code::unsupported, "no device memory for staging, or none that peers can map");
}

StagedPieces::StagedPieces(const Plan& plan, std::size_t block_bytes, std::size_t grain) : plan_(plan), block_(block_bytes) {
  const std::size_t most = kStagingHalf / static_cast<std::size_t>(plan.group.size() - 1) / grain * grain;
  rounds_ = (block_bytes + most - 1) / most;
  if (rounds_ > 0) piece_ = round_up((block_bytes + rounds_ - 1) / rounds_, grain);
}

std::byte* StagedPieces::slot(std::size_t round, int owner, int other) const {
  const int ranks = plan_.group.size();
  const auto index = static_cast<std::size_t>((other - owner - 1 + ranks) % ranks);
  return plan_.devices->streams().staging(owner) + round % 2 * kStagingHalf + index * piece_;
}

namespace {

// The copies in go to the receivers' memory.
struct Exchange {
  const Plan& plan;
  const StagedSides& sides;
  StagedPieces pieces;
  std::vector<crossrail_block> blocks;

  template <class Take>
  void each_peer(Take take) const {
    const int ranks = plan.group.size(), own = plan.group.index();
    for (int step = 1; step < ranks; ++step) take(own, (own + step) % ranks);
  }
  const std::byte* sent(int peer, std::size_t round) const { return sides.send + static_cast<std::size_t>(peer) * sides.send_pitch + pieces.from(round); }
  std::byte* received(int peer, std::size_t round) const { return sides.recv + static_cast<std::size_t>(peer) * sides.recv_pitch + pieces.from(round); }

  void copy_in(std::size_t round) {
    if (round >= pieces.rounds()) return;
    each_peer([&](int own, int peer) { blocks.push_back({pieces.slot(round, peer, own), sent(peer, round), pieces.bytes(round)}); });
  }
  void copy_out(std::size_t round) {
    each_peer([&](int own, int peer) { blocks.push_back({received(peer, round), pieces.slot(round, own, peer), pieces.bytes(round)}); });
    const int own = plan.group.index();
    if (received(own, round) != sent(own, round)) blocks.push_back({received(own, round), sent(own, round), pieces.bytes(round)});
  }
};

}  // namespace

Status exchange_staged(Plan& plan, void* stream, const StagedSides& sides) {
  constexpr std::size_t kGrain = 256;
  StreamOrder& streams = plan.devices->streams();
  CROSSRAIL_TRY(streams.check_peers());
  Exchange call{plan, sides, StagedPieces(plan, sides.block_bytes, kGrain), {}};
  call.copy_in(0);
  CROSSRAIL_TRY(streams.exchange(stream, call.blocks, CROSSRAIL_ENGINE_KERNEL, Meet::none));
  for (std::size_t round = 0; round < call.pieces.rounds(); ++round) {
    call.blocks.clear();
    call.copy_in(round + 1);
    call.copy_out(round);
    CROSSRAIL_TRY(streams.exchange(stream, call.blocks, CROSSRAIL_ENGINE_KERNEL, call.pieces.meeting(round)));
  }
  return {};
}

}  // namespace crossrail
