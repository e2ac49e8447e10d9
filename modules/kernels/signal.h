// At the end of a kernel the last CTA tells the host.
#pragma once

#include "gpu_device.h"
#include "tasks.h"

namespace kernels {

// Returns the value told before. It is read at the start of the kernel, long before it is needed.
GPU_INLINE uint64_t last_value(const Signal& signal) {
  return threadIdx.x == 0 && signal.is_step != 0 ? *signal.last : 0;
}

// The one thread for which last_of_all returned true calls this.
GPU_INLINE void tell(const Signal& signal, uint64_t value) {
  if (signal.flag != nullptr) gpu::store_system(signal.flag, value);
}

// All threads of all CTAs come here when their writes are issued. Returns true in one thread of the last CTA, when the writes of all are
// ordered before whatever that thread writes next.
//   a thread's writes -> barrier -> fence and count by thread 0 -> count and fence by the last one
// The first fence orders for this device only, which is quicker. What the last CTA has seen so, its own fence orders for all.
GPU_INLINE bool last_of_all(uint32_t* arrivals) {
  gpu::sync_threads();
  if (threadIdx.x != 0) return false;
  if (gridDim.x > 1) {
    gpu::fence_device();
    if (gpu::count_around(arrivals, gridDim.x - 1) != gridDim.x - 1) return false;
  }
  gpu::fence_system();
  return true;
}

// Does the same, but orders nothing.
GPU_INLINE bool last_to_come(uint32_t* arrivals) {
  gpu::sync_threads();
  return threadIdx.x == 0 && (gridDim.x == 1 || gpu::count_around(arrivals, gridDim.x - 1) == gridDim.x - 1);
}

GPU_INLINE uint64_t value_of(const Signal& signal, uint64_t before) {
  const uint64_t value = signal.is_step != 0 ? before + signal.value : signal.value;
  if (signal.last != nullptr) *signal.last = value;
  return value;
}

GPU_INLINE void finish(const Signal& signal, uint64_t before) {
  if (signal.flag == nullptr) return;
  if (last_of_all(signal.arrivals)) tell(signal, value_of(signal, before));
}

}  // namespace kernels
