// CheckedBuffers are the buffers of all ranks for the calls of one size, filled and compared by the definition of the collective. Reductions add up
// int32 elements; an alltoallv has equal blocks, of which its ranks do not know. If data are not moved, all ranks have the same memory, which nobody touches.
#pragma once

#include <vector>

#include "comm/buffers.h"
#include "comm/shape.h"
#include "virtual_world/reserved_memory.h"

namespace crossrail::simulated_world {

using virtual_world::ReservedMemory;

// Calls of one size: blocks, or all elements of a rank, have `bytes` bytes.
struct CallKind {
  Collective collective;
  std::size_t bytes;
  Shape shape() const;
  // Returns whether simulations need the data: their messages say how long blocks are.
  bool needs_data() const { return row_of(collective).counts == Counts::vector; }
};

class CheckedBuffers {
 public:
  CheckedBuffers(const CallKind& kind, int ranks, bool moved);
  // Returns false if there is no memory for them.
  bool usable() const;
  Buffers of(int rank) const;
  // The next call gets fresh data, and its receive buffer is poisoned.
  void fill(int rank, std::uint64_t call);
  bool right(int rank, std::uint64_t call) const;
  // Returns how much memory the buffers of all ranks take if data are moved.
  static std::size_t bytes_of_all(const CallKind& kind, int ranks);

 private:
  std::size_t send_blocks() const;
  std::size_t recv_blocks() const;

  CallKind kind_;
  int ranks_;
  bool moved_;
  ReservedMemory send_, recv_;
  std::vector<Block> blocks_;  // An alltoallv has these on both sides.
};

}  // namespace crossrail::simulated_world
