// Ranks meet in device order. Each writes the number of the barrier into a line of its own in every receive buffer, and waits until all
// lines of its own receive buffer have it. One CTA does this.
#pragma once

#include "gpu_device.h"
#include "signal.h"
#include "tasks.h"

namespace kernels {

constexpr unsigned kSpinsBetweenGlances = 4096;

// Returns the tail of this rank's own receive buffer. It serves tasks of packets and of barriers.
template <class Task>
GPU_INLINE BufferTail* tail_of(const Task& task) {
  return reinterpret_cast<BufferTail*>(task.buffers[task.rank] + task.tail);
}

template <unsigned kMost>
GPU_INLINE BarrierLine* lines_of(const BarrierTask<kMost>& task, uint32_t rank) {
  return reinterpret_cast<BarrierLine*>(task.buffers[rank] + task.tail + sizeof(BufferTail));
}

// One thread calls this behind its fence: one fence is enough for all peers, and each costs half a microsecond.
template <unsigned kMost>
GPU_INLINE void tell_number(const BarrierTask<kMost>& task, uint64_t number) {
  for (uint32_t peer = 0; peer < task.ranks; ++peer) gpu::store_system(&lines_of(task, peer)[task.rank].barrier, number);
}

// Waits until all have told it, or this rank is told to give up. All threads of the CTA come here.
template <unsigned kMost>
GPU_INLINE void await_peers(const BarrierTask<kMost>& task, uint64_t number) {
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
}

// `tell(peer, line)` writes what a peer is to know beside the number.
template <unsigned kMost, class Tell>
GPU_INLINE void meet(const BarrierTask<kMost>& task, Tell tell) {
  const uint64_t number = tail_of(task)->barrier + 1;
  for (uint32_t peer = threadIdx.x; peer < task.ranks; peer += blockDim.x) tell(peer, &lines_of(task, peer)[task.rank]);
  gpu::fence_system();  // Peers see this, and what kernels before have written, before the number.
  for (uint32_t peer = threadIdx.x; peer < task.ranks; peer += blockDim.x) gpu::store_system(&lines_of(task, peer)[task.rank].barrier, number);
  await_peers(task, number);
  if (threadIdx.x == 0) tail_of(task)->barrier = number;
}

struct NothingToTell {
  static constexpr bool kTells = false;
  GPU_INLINE void operator()(uint32_t, BarrierLine*) const {}
};

template <unsigned kMost>
GPU_INLINE void barrier(const BarrierTask<kMost>& task) {
  meet(task, NothingToTell{});
}

// These are barriers in a kernel that does something between them, with any number of CTAs. All of them wait, so they must leave room for
// others'.
struct Between {
  const BarrierTask<kFewRanks>& task;
  bool after;
  uint64_t number;  // It is the number of the last barrier.

  GPU_INLINE Between(const BarrierTask<kFewRanks>& ranks, bool meets_after) : task(ranks), after(meets_after), number(tail_of(ranks)->barrier) {}
  GPU_INLINE explicit Between(const MeetingTask& asked) : Between(asked.barrier, asked.after != 0) {
    if (asked.before != 0) come(NothingToTell{});
  }

  // The first CTA, which starts first, tells that this rank has come, and what peers are to know beside that.
  template <class Tell>
  GPU_INLINE void come(Tell tell) {
    ++number;
    if (Tell::kTells && blockIdx.x == 0) {
      if (threadIdx.x < task.ranks) tell(threadIdx.x, &lines_of(task, threadIdx.x)[task.rank]);
      gpu::sync_threads();
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      gpu::fence_system();  // It covers this, and what kernels before have written.
      tell_number(task, number);
    }
    await_peers(task, number);
  }
  // The last CTA ends it. The others have read the number when they come here.
  GPU_INLINE void leave() {
    __shared__ uint32_t last;
    BufferTail* const tail = tail_of(task);
    if (after) ++number;
    const bool is_last = last_of_all(&tail->arrivals);
    if (is_last && after) tell_number(task, number);
    if (threadIdx.x == 0) last = is_last ? 1 : 0;
    gpu::sync_threads();
    if (last == 0) return;
    if (after) await_peers(task, number);
    if (threadIdx.x == 0) tail->barrier = number;
  }
};

}  // namespace kernels
