// This is what kernels need of the device, in HIP's words. For AMD's devices the words are the compiler's own, so that any clang will do,
// without HIP's headers and libraries. For NVIDIA's they go through HIP's header, in CUDA's words.
#pragma once

#if defined(__HIP_PLATFORM_NVIDIA__)
#include "nvidia.h"
#include <hip/hip_runtime.h>

#include "../cuda/gpu_device.h"
#else

#include <stdint.h>

// This declares a kernel of at most `threads` threads a CTA.
#define GPU_KERNEL_OF(threads)                                                                          \
  extern "C" __attribute__((global)) __attribute__((launch_bounds(threads)))                             \
  __attribute__((amdgpu_flat_work_group_size(1, threads))) void
#define GPU_KERNEL GPU_KERNEL_OF(1024)
// This one also has so few registers that `ctas` CTAs fit on a multiprocessor, which the compiler sees to by itself.
#define GPU_KERNEL_BESIDE(threads, ctas) GPU_KERNEL_OF(threads)
#define GPU_INLINE __attribute__((device)) __attribute__((always_inline)) inline
#define GPU_NOINLINE static __attribute__((device)) __attribute__((noinline))
#define GPU_ARGUMENT const
// This is a task that not every vendor can pass as an argument (kernels/tasks.h). Here it is one. Others take a pointer, which long_task
// follows.
#define GPU_LONG(...) GPU_ARGUMENT __VA_ARGS__
#define __shared__ __attribute__((shared))

namespace gpu {

template <class Task>
GPU_INLINE const Task& long_task(const Task& task) { return task; }

struct GridDim {
  GPU_INLINE unsigned get() const { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }
  __declspec(property(get = get)) unsigned x;
};
struct BlockDim {
  GPU_INLINE unsigned get() const { return __builtin_amdgcn_workgroup_size_x(); }
  __declspec(property(get = get)) unsigned x;
};
struct BlockIdx {
  GPU_INLINE unsigned get() const { return __builtin_amdgcn_workgroup_id_x(); }
  __declspec(property(get = get)) unsigned x;
};
struct ThreadIdx {
  GPU_INLINE unsigned get() const { return __builtin_amdgcn_workitem_id_x(); }
  __declspec(property(get = get)) unsigned x;
};

struct alignas(16) Pair {
  uint64_t low, high;
};
using PairOfWords = uint64_t __attribute__((ext_vector_type(2)));

// These move data.
template <class Unit>
GPU_INLINE Unit load(const Unit* from) {
  return *from;
}
template <>
GPU_INLINE Pair load(const Pair* from) {
  const PairOfWords value = __builtin_nontemporal_load(reinterpret_cast<const PairOfWords*>(from));
  return {value.x, value.y};
}
template <class Unit>
GPU_INLINE void store(Unit* to, Unit value) {
  *to = value;
}

// These move words that others look at or write meanwhile.
GPU_INLINE uint64_t load_system(const uint64_t* from) {
  return __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
GPU_INLINE void store_system(uint64_t* to, uint64_t value) {
  __hip_atomic_store(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
GPU_INLINE Pair load_system(const Pair* from) { return {load_system(&from->low), load_system(&from->high)}; }
GPU_INLINE void store_system(Pair* to, Pair value) {
  store_system(&to->low, value.low);
  store_system(&to->high, value.high);
}
GPU_INLINE uint64_t load_acquire(const uint64_t* from) {
  return __hip_atomic_load(from, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
// All see what was written and read before it before they see this.
GPU_INLINE void store_release(uint64_t* to, uint64_t value) {
  __hip_atomic_store(to, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

// All devices and processors see what is written before it before they see what is written after it. What is read after it is as new as
// what was read before.
GPU_INLINE void fence_system() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, ""); }
// Orders within this device. It orders no less than for all, as its second cache keeps lines of other devices' memory.
GPU_INLINE void fence_device() { fence_system(); }
// Orders for all, and what is read after is read after what was written before is seen.
GPU_INLINE void fence_total() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

// Counts to `limit`, then from 0 again, and returns the count before.
GPU_INLINE uint32_t count_around(uint32_t* counter, uint32_t limit) {
  return __builtin_amdgcn_atomic_inc32(counter, limit, __ATOMIC_RELAXED, "agent");
}

// Returns the upper 64 bits of the product.
GPU_INLINE uint64_t multiply_high(uint64_t a, uint64_t b) { return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64); }

// Each wavefront's writes have left it before the others go on, so a fence of one thread is then for all.
GPU_INLINE void sync_threads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Returns whether it holds for all threads of the CTA. They meet, as in sync_threads.
GPU_INLINE bool all_threads(bool it) {
  static __shared__ uint32_t others;
  if (__builtin_amdgcn_workitem_id_x() == 0) others = 0;
  sync_threads();
  if (!it) __atomic_fetch_or(&others, 1u, __ATOMIC_RELAXED);
  sync_threads();
  const bool all = others == 0;
  sync_threads();
  return all;
}

// Lanes of a wavefront go together, and those that have not taken a branch are off. Of 64 lanes, this means the 32 that include this one.
GPU_INLINE void sync_lanes() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
// Returns whether it holds for all lanes. Lanes meet, as in sync_lanes.
GPU_INLINE bool all_lanes(bool it) {
  sync_lanes();
#if __has_builtin(__builtin_amdgcn_ballot_w64)
  const uint64_t others = __builtin_amdgcn_ballot_w64(!it);
#else
  const uint64_t others = __builtin_amdgcn_uicmp(it ? 0u : 1u, 0u, 33);  // 33 means not equal.
#endif
  return (others >> (__builtin_amdgcn_workitem_id_x() & 32) & 0xffffffffu) == 0;
}

// Returns what lane `lane` of the 32 has.
GPU_INLINE uint64_t from_lane(uint64_t value, unsigned lane) {
  const int at = static_cast<int>((__builtin_amdgcn_workitem_id_x() & 32) + lane) * 4;
  const int low = __builtin_amdgcn_ds_bpermute(at, static_cast<int>(value));
  const int high = __builtin_amdgcn_ds_bpermute(at, static_cast<int>(value >> 32));
  return static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low);
}

// This uses the clock of 100 MHz. Where it has 25 MHz, the time is four times as long.
GPU_INLINE uint64_t now_ns() { return __builtin_amdgcn_s_memrealtime() * 10; }

}  // namespace gpu

inline constexpr __attribute__((device)) gpu::GridDim gridDim{};
inline constexpr __attribute__((device)) gpu::BlockDim blockDim{};
inline constexpr __attribute__((device)) gpu::BlockIdx blockIdx{};
inline constexpr __attribute__((device)) gpu::ThreadIdx threadIdx{};
#endif
