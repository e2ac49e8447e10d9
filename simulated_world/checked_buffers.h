// CheckedBuffers are the buffers of all ranks for the calls of one size, filled and compared by the definition of the collective. Reductions add up
// int32 elements. If data are not moved, all ranks have the same memory, which nobody touches.
#pragma once

#include <vector>

#include "comm/buffers.h"
#include "comm/shape.h"
#include "simulated_world/reserved_memory.h"

namespace crossrail::simulated_world {

// Returns the Shape of such calls.
Shape shape_of(Collective collective, std::size_t bytes);

class CheckedBuffers {
 public:
  CheckedBuffers(const Shape& shape, int ranks, bool moved);
  // Returns false if there is no memory for them.
  bool usable() const;
  Buffers of(int rank) const;
  // The next call gets fresh data, and its receive buffer is poisoned.
  void fill(int rank, std::uint64_t call);
  bool right(int rank, std::uint64_t call) const;
  // Returns how much memory the buffers of all ranks take if data are moved.
  static std::size_t bytes_of_all(const Shape& shape, int ranks);

 private:
  std::size_t send_blocks() const;
  std::size_t recv_blocks() const;

  Shape shape_;
  int ranks_;
  bool moved_;
  ReservedMemory send_, recv_;
};

}  // namespace crossrail::simulated_world
