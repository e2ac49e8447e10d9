// These are the words of kernels for a device that is none: the test's processor goes through a kernel's text for one lane after the other. A warp goes
// from one meeting of its lanes to the next while nothing else goes on, so what its lanes read there they have read at once. What they write there
// arrives at once when they meet. So lines arrive whole, as on links that do not break them.
#pragma once

#include <cstddef>
#include <cstdint>

#define GPU_KERNEL void
#define GPU_INLINE inline
#define GPU_NOINLINE [[maybe_unused]] static
#define GPU_ARGUMENT const
#define GPU_LONG(...) GPU_ARGUMENT __VA_ARGS__
#define __shared__ static

namespace gpu {

struct Index {
  unsigned x = 0;
};

struct alignas(16) Pair {
  uint64_t low, high;
};

// pretended_warps.cpp has these.
enum class Meeting { none, lanes, all, from, threads, end };
uint64_t meet(Meeting meeting, uint64_t given, unsigned lane);
void store_later(Pair* to, Pair value);
void count_store();

template <class Unit>
Unit load(const Unit* from) { return *from; }
template <class Unit>
void store(Unit* to, Unit value) { *to = value; }
inline Pair load_system(const Pair* from) { return *from; }
inline void store_system(Pair* to, Pair value) { store_later(to, value); }
inline uint64_t load_system(const uint64_t* from) { return *from; }
inline void store_system(uint64_t* to, uint64_t value) { *to = value; }
inline uint64_t load_acquire(const uint64_t* from) { return *from; }
inline void store_release(uint64_t* to, uint64_t value) {
  count_store();
  *to = value;
}
inline void fence_system() {}
inline void fence_device() {}
inline void fence_total() {}
inline uint32_t count_around(uint32_t* counter, uint32_t limit) {
  const uint32_t before = *counter;
  *counter = before >= limit ? 0 : before + 1;
  return before;
}
inline uint64_t multiply_high(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 Wide;
  return static_cast<uint64_t>(Wide{a} * b >> 64);
}
inline void sync_threads() { (void)meet(Meeting::threads, 0, 0); }
inline void sync_lanes() { (void)meet(Meeting::lanes, 0, 0); }
inline bool all_lanes(bool it) { return meet(Meeting::all, it ? 1 : 0, 0) != 0; }
inline uint64_t from_lane(uint64_t value, unsigned lane) { return meet(Meeting::from, value, lane); }
inline uint64_t now_ns() { return 0; }

}  // namespace gpu

inline gpu::Index threadIdx, blockIdx, blockDim, gridDim;
