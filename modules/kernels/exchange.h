// One launch moves all blocks, then tells the host. It never waits for anything.
#pragma once

#include "move.h"
#include "signal.h"

namespace kernels {

template <unsigned kMost>
GPU_INLINE void exchange(const ExchangeTask<kMost>& task) {
  const uint64_t before = last_value(task.signal);
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const Group group{thread % task.lanes, task.lanes};
  const uint64_t groups = gridDim.x * blockDim.x / task.lanes;
  for (uint64_t piece = thread / task.lanes; piece < task.list.pieces; piece += groups) {
    move_piece(piece_of(task.list, task.blocks, piece), group);
  }
  finish(task.signal, before);
}

}  // namespace kernels
