// Ranks meet in device order: each writes the number of the barrier into a line of its own in every
// receive buffer, and waits until all lines of its own receive buffer have it. One CTA.
#pragma once

#include "gpu_device.h"
#include "tasks.h"

namespace kernels {

constexpr unsigned kSpinsBetweenGlances = 4096;

template <unsigned kMost>
GPU_INLINE BarrierLine* lines_of(const BarrierTask<kMost>& task, uint32_t rank) {
  return reinterpret_cast<BarrierLine*>(task.buffers[rank] + task.tail + sizeof(BufferTail));
}

// `tell(peer, line)` writes what a peer is to know beside the number.
template <unsigned kMost, class Tell>
GPU_INLINE void meet(const BarrierTask<kMost>& task, Tell tell) {
  BufferTail* tail = reinterpret_cast<BufferTail*>(task.buffers[task.rank] + task.tail);
  const uint64_t number = tail->barrier + 1;
  gpu::fence_system();  // what kernels before have written is seen before the number
  for (uint32_t peer = threadIdx.x; peer < task.ranks; peer += blockDim.x) {
    BarrierLine* line = &lines_of(task, peer)[task.rank];
    tell(peer, line);
    gpu::store_release(&line->barrier, number);
  }
  const BarrierLine* own = lines_of(task, task.rank);
  bool stayed = true;
  for (uint32_t peer = threadIdx.x; stayed && peer < task.ranks; peer += blockDim.x) {
    // A peer may be at the next barrier already.
    for (unsigned spins = 1; gpu::load_acquire(&own[peer].barrier) < number; ++spins) {
      if (spins % kSpinsBetweenGlances != 0 || task.abort == nullptr) continue;
      stayed = gpu::load_system(task.abort) == 0;
      if (!stayed) break;
    }
  }
  gpu::sync_threads();
  if (threadIdx.x == 0) tail->barrier = number;
}

struct NothingToTell {
  GPU_INLINE void operator()(uint32_t, BarrierLine*) const {}
};

template <unsigned kMost>
GPU_INLINE void barrier(const BarrierTask<kMost>& task) {
  meet(task, NothingToTell{});
}

}  // namespace kernels
