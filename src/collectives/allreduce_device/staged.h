// Reductions through staging memory (device_staged.h) share this code. Each rank combines a share of all elements.
#pragma once

#include <array>
#include <numeric>
#include <vector>

#include "collectives/allreduce_device/combined.h"
#include "collectives/device_staged.h"

namespace crossrail::allreduce_device {

inline Status plan_staged_combining(Plan& plan) {
  CROSSRAIL_TRY(has_kernels(plan));
  CROSSRAIL_TRY(plan_staged(plan));
  plan.keep(Shares(plan));
  return {};
}

// What is sent has `all` bytes, in shares of `share` bytes, of which the last ones may be shorter.
struct StagedSource {
  const std::byte* send;
  std::size_t share, all;
};

class StagedShares {
 public:
  StagedShares(Plan& plan, const StagedSource& source)
      : plan_(plan), source_(source), pieces_(plan, source.share, std::lcm(std::size_t{256}, bytes_of(plan.shape.reduction.element))) {}
  const StagedPieces& pieces() const { return pieces_; }
  // Returns the length of the piece of a rank's share.
  std::size_t bytes(std::size_t round, int rank) const {
    const std::size_t begin = static_cast<std::size_t>(rank) * source_.share;
    return begin < source_.all ? pieces_.bytes_of(round, std::min(source_.share, source_.all - begin)) : 0;
  }
  std::size_t place(std::size_t round, int rank) const { return static_cast<std::size_t>(rank) * source_.share + pieces_.from(round); }

  // Adds the copies of the other ranks' pieces into this rank's staging memory.
  void add_copies_in(std::vector<crossrail_block>& blocks, std::size_t round, std::size_t half) const {
    const int ranks = plan_.group.size(), own = plan_.group.index();
    for (int step = 1; round < pieces_.rounds() && step < ranks; ++step) {
      const int peer = (own + step) % ranks;
      blocks.push_back({pieces_.slot(half, own, peer), source_.send + place(round, peer), bytes(round, peer)});
    }
  }
  Status copy_in(void* stream, std::size_t round, Meet meet) const {
    std::vector<crossrail_block> blocks;
    add_copies_in(blocks, round, round);
    return blocks.empty() ? Status{} : plan_.devices->streams().exchange(stream, blocks, CROSSRAIL_ENGINE_KERNEL, meet);
  }
  // Combines this rank's piece, which goes to one or two places.
  crossrail_combination combination(std::size_t round, const std::array<std::byte*, 2>& to) const { return combination(round, round, to); }
  crossrail_combination combination(std::size_t round, std::size_t half, const std::array<std::byte*, 2>& to) const {
    const int ranks = plan_.group.size(), own = plan_.group.index();
    auto& shares = plan_.kept<Shares>();
    shares.clear();
    const Share share = shares.add(plan_, {ranks, to[1] == nullptr ? 1 : 2}, bytes(round, own));
    for (int rank = 0; rank < ranks; ++rank) share.from[rank] = rank == own ? source_.send + place(round, own) : pieces_.slot(half, rank, own);
    std::copy(to.begin(), to.end(), share.to);
    return shares.all().front();
  }

 private:
  Plan& plan_;
  StagedSource source_;
  StagedPieces pieces_;
};

}  // namespace crossrail::allreduce_device
