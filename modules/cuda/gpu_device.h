// This is what kernels need of the device, in CUDA's words. Other devices and processors see loads and stores of "system". Those of 64 bits
// are never torn.
#pragma once

#include <stdint.h>

// This declares a kernel of at most `threads` threads a CTA.
#define GPU_KERNEL_OF(threads) extern "C" __global__ void __launch_bounds__(threads)
#define GPU_KERNEL GPU_KERNEL_OF(1024)
// This one also has so few registers that `ctas` CTAs fit on a multiprocessor.
#define GPU_KERNEL_BESIDE(threads, ctas) extern "C" __global__ void __launch_bounds__(threads, ctas)
#define GPU_INLINE __device__ __forceinline__
#define GPU_NOINLINE static __device__ __noinline__
// These arguments may be indexed where they lie.
#define GPU_ARGUMENT const __grid_constant__
// This is a task that not every vendor can pass as an argument (kernels/tasks.h). Here it is one. Others take a pointer, which long_task
// follows.
#define GPU_LONG(...) GPU_ARGUMENT __VA_ARGS__

namespace gpu {

template <class Task>
GPU_INLINE const Task& long_task(const Task& task) { return task; }

struct alignas(16) Pair {
  uint64_t low, high;
};

// These move data. The data is not kept in the first cache, where another device's writes are not seen.
template <class Unit>
GPU_INLINE Unit load(const Unit* from) {
  return *from;
}
template <>
GPU_INLINE Pair load(const Pair* from) {
  Pair value;
  asm volatile("ld.global.L1::no_allocate.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.low), "=l"(value.high) : "l"(from) : "memory");
  return value;
}
template <class Unit>
GPU_INLINE void store(Unit* to, Unit value) {
  *to = value;
}
template <>
GPU_INLINE void store(Pair* to, Pair value) {
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(value.low), "l"(value.high) : "memory");
}

// These move words that others look at or write meanwhile.
GPU_INLINE Pair load_system(const Pair* from) {
  Pair value;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.low), "=l"(value.high) : "l"(from) : "memory");
  return value;
}
GPU_INLINE void store_system(Pair* to, Pair value) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(value.low), "l"(value.high) : "memory");
}
GPU_INLINE uint64_t load_system(const uint64_t* from) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}
GPU_INLINE void store_system(uint64_t* to, uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}
GPU_INLINE uint64_t load_acquire(const uint64_t* from) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}
// All see what was written and read before it before they see this.
GPU_INLINE void store_release(uint64_t* to, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}

// All devices and processors see what is written before it before they see what is written after it. What is read after it is as new as
// what was read before.
GPU_INLINE void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
// Orders within this device.
GPU_INLINE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
// Orders for all, and what is read after is read after what was written before is seen.
GPU_INLINE void fence_total() { asm volatile("fence.sc.sys;" ::: "memory"); }

// Counts to `limit`, then from 0 again, and returns the count before.
GPU_INLINE uint32_t count_around(uint32_t* counter, uint32_t limit) { return atomicInc(counter, limit); }

// Returns the upper 64 bits of the product.
GPU_INLINE uint64_t multiply_high(uint64_t a, uint64_t b) { return __umul64hi(a, b); }

GPU_INLINE void sync_threads() { __syncthreads(); }
// Returns whether it holds for all threads of the CTA. They meet, as in sync_threads.
GPU_INLINE bool all_threads(bool it) { return __syncthreads_and(it) != 0; }
GPU_INLINE void sync_lanes() { __syncwarp(); }
// Returns whether it holds for all lanes of the warp. Lanes meet, as in sync_lanes.
GPU_INLINE bool all_lanes(bool it) { return __all_sync(0xffffffffu, it) != 0; }

// Returns what lane `lane` of the warp has.
GPU_INLINE uint64_t from_lane(uint64_t value, unsigned lane) { return __shfl_sync(0xffffffffu, value, lane); }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// These devices convert two short floats in one instruction. A NaN loses its bits there.
#define GPU_CONVERTS_PAIRS 1
GPU_INLINE uint32_t nearest_bfloat16_pair(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
GPU_INLINE uint32_t nearest_float16_pair(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
GPU_INLINE float of_float16(uint32_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<uint16_t>(bits)));
  return value;
}
#endif

GPU_INLINE uint64_t now_ns() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace gpu
