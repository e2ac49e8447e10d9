// Ranks meet in device order: each writes the number of the meeting into a line of its own in every
// inbox, and waits until all lines of its own inbox have it. One CTA.
#pragma once

#include "gpu_device.h"
#include "tasks.h"

namespace kernels {

constexpr unsigned kSpinsBetweenGlances = 4096;

template <unsigned kMost>
GPU_INLINE MeetingLine* lines_of(const MeetingTask<kMost>& task, uint32_t rank) {
  return reinterpret_cast<MeetingLine*>(task.inboxes[rank] + task.tail + sizeof(InboxTail));
}

template <unsigned kMost>
GPU_INLINE void meet(const MeetingTask<kMost>& task) {
  InboxTail* tail = reinterpret_cast<InboxTail*>(task.inboxes[task.rank] + task.tail);
  const uint64_t number = tail->meeting + 1;
  gpu::fence_system();  // what kernels before have written is seen before the number
  for (uint32_t peer = threadIdx.x; peer < task.ranks; peer += blockDim.x) {
    gpu::store_release(&lines_of(task, peer)[task.rank].meeting, number);
  }
  const MeetingLine* own = lines_of(task, task.rank);
  bool stayed = true;
  for (uint32_t peer = threadIdx.x; stayed && peer < task.ranks; peer += blockDim.x) {
    // A peer may be at the next meeting already.
    for (unsigned spins = 1; gpu::load_acquire(&own[peer].meeting) < number; ++spins) {
      if (spins % kSpinsBetweenGlances != 0 || task.leave == nullptr) continue;
      stayed = gpu::load_system(task.leave) == 0;
      if (!stayed) break;
    }
  }
  gpu::meet_threads();
  if (threadIdx.x == 0) tail->meeting = number;
}

}  // namespace kernels
