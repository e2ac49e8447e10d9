// In a stream's order, long blocks go through staging memory that all ranks have mapped since the communicator's first such call. So no rank needs the
// addresses of another one's buffers, and nobody meets on the host.
//
// A call has rounds, each of a piece of every block. Staging memory has two halves, which rounds use in turn. Kernels copy a piece there and from there;
// between the two, ranks meet on the device. A copy of the next round goes beside what follows the meeting:
//
//   copies in of round 0 | meeting | copies out of round 0, copies in of round 1 | meeting | copies out of round 1, ...
//
// Whoever has passed a meeting knows that all have done what came before it. So a round writes over what all have read two rounds ago. It is the same
// from one call to the next if a call has an even number of rounds. Otherwise all meet once more at its end.
#pragma once

#include "collectives/device_rounds.h"

namespace crossrail {

inline constexpr std::size_t kStagingBytes = std::size_t{16} << 20;
inline constexpr std::size_t kStagingHalf = kStagingBytes / 2;

// It is for calls in a stream's order on one node.
Fit fit_device_staged(const Topology& topology, const Shape& shape);
Status plan_staged(Plan& plan);

// These are the pieces of blocks. In staging memory of a rank there is a slot for each other rank.
class StagedPieces {
 public:
  // Pieces are multiples of `grain`, apart from the last one of a block.
  StagedPieces(const Plan& plan, std::size_t block_bytes, std::size_t grain);
  std::size_t rounds() const { return rounds_; }
  std::size_t from(std::size_t round) const { return round * piece_; }
  std::size_t bytes(std::size_t round) const { return bytes_of(round, block_); }
  // Returns the length of a piece of a block that may be shorter than others.
  std::size_t bytes_of(std::size_t round, std::size_t block) const { return from(round) < block ? std::min(piece_, block - from(round)) : 0; }
  // Returns the slot in the memory of `owner` that belongs to `other`.
  std::byte* slot(std::size_t round, int owner, int other) const;
  // All meet before what comes after the copies in, and at the end if the next call would otherwise write over what is still to be read.
  Meet meeting(std::size_t round) const { return round + 1 == rounds_ && rounds_ % 2 != 0 ? Meet::both : Meet::before; }

 private:
  const Plan& plan_;
  std::size_t block_, piece_ = 0, rounds_ = 0;
};

// The blocks of a side follow each other at this distance; 0 means that one block is for all ranks.
struct StagedSides {
  const std::byte* send;
  std::byte* recv;
  std::size_t send_pitch, recv_pitch, block_bytes;
};
// Moves every rank's block to each other rank.
Status exchange_staged(Plan& plan, void* stream, const StagedSides& sides);

}  // namespace crossrail
