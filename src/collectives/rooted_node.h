// RootedNode moves equal blocks between one rank of a node, its root here, and the others, through the node's segment.
//
// Every other rank has a region in each half: in a gather it writes there and the root reads, and in a scatter the root writes and it reads. Short
// blocks are packets. Long blocks lie in the bulk region one chunk at a time, and one packet announces each chunk. Its flag is that of the epoch and
// the Shape, which contains the root, so a block that was meant for another root is never taken.
//
// A writer does not wait for its readers, but only until the half is free: for the readers of two epochs
// ago, which are ready when they have begun the next epoch. Therefore a rank that sends is at most one
// call ahead of the root of a gather, and the root of a scatter at most one ahead of the last rank.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algorithm.h"
#include "collectives/combine.h"
#include "collectives/packets.h"

namespace crossrail {

class RootedNode {
 public:
  // It reads the parameters packet and part. Errors: no_memory.
  Status plan(Plan& plan);

  // Moves the block of every rank except the root, whose node rank is `root`, to `place(node_rank)` in the root's memory.
  template <class Place>
  Status gather(Plan& plan, int root, const std::byte* own, Place place) {
    ControlBlock& control = *plan.control;
    return for_chunks(plan, [&](const Chunk& chunk) -> Status {
      if (control.node_rank() != root) return leave_for(plan, root, own + chunk.from, chunk);
      control.writes_nothing(chunk.epoch, plan.number);
      CROSSRAIL_TRY(for_others(control, [&](int peer) { return take(plan, chunk, {peer, peer}, place(peer) + chunk.from); }));
      control.seen_all(chunk.epoch);
      return {};
    });
  }

  // Moves them back: to `own` of every rank except the root from `place(node_rank)` in the root's memory.
  template <class Place>
  Status scatter(Plan& plan, int root, std::byte* own, Place place) {
    ControlBlock& control = *plan.control;
    return for_chunks(plan, [&](const Chunk& chunk) -> Status {
      if (control.node_rank() != root) return take_from(plan, root, own + chunk.from, chunk);
      CROSSRAIL_TRY(control.wait_until_reusable(chunk.epoch));
      return for_others(control, [&](int peer) {
        put(plan, chunk, peer, place(peer) + chunk.from);
        return Status{};
      });
    });
  }

 private:
  // A Chunk is the bytes of every block, from `from` on, that one epoch moves.
  struct Chunk {
    std::size_t from, bytes;
    std::uint64_t epoch, flag;
    int half() const { return static_cast<int>(epoch & 1); }
  };
  struct Source {
    int region, writer;  // Both are node ranks.
  };

  template <class Visit>
  Status for_chunks(Plan& plan, Visit visit) {
    const std::size_t block = plan.shape.block_bytes, most = plan.packets ? block : plan.chunk_bytes;
    for (std::size_t from = 0; from < block; from += most) {
      const std::uint64_t epoch = plan.control->next_epoch();
      CROSSRAIL_TRY(visit(Chunk{from, std::min(most, block - from), epoch, plan.control->flag(epoch)}));
    }
    return {};
  }
  template <class Visit>
  static Status for_others(const ControlBlock& control, Visit visit) {
    const int ranks = control.node_size();
    for (int step = 1; step < ranks; ++step) CROSSRAIL_TRY(visit((control.node_rank() + step) % ranks));
    return {};
  }
  Packet* packets_of(ControlBlock& control, const Chunk& chunk, int region) const { return control.packets(chunk.half(), region, stride_); }
  void put(Plan& plan, const Chunk& chunk, int region, const std::byte* from);
  Status take(Plan& plan, const Chunk& chunk, const Source& source, std::byte* to);
  Status leave_for(Plan& plan, int root, const std::byte* from, const Chunk& chunk);
  Status take_from(Plan& plan, int root, std::byte* to, const Chunk& chunk);

  std::size_t stride_ = 1;                // It counts the packets of a region and is the same for all sizes that the plan serves.
  std::vector<std::uint8_t> readers_[2];  // For each half, they are the ranks that read what this rank has last written there.
};

}  // namespace crossrail
