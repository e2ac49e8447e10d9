// The library can be compiled to run in simulated time (simulated_world/), in which thousands of ranks take turns on one thread. The text is the
// same, and at these places it says what takes time there. In the library that programs load, all of this is nothing.
#pragma once

#include <cstddef>

namespace crossrail::simulated_time {

#ifdef CROSSRAIL_SIMULATED_TIME

inline constexpr bool on = true;

// Charges this rank for a copy of the user's data, and makes it if data are moved at all.
void copy(void* to, const void* from, std::size_t bytes);
// Charges this rank for combining two operands of `bytes` bytes each. Returns whether they are to be combined, which is so if data are moved.
bool combine(std::size_t bytes);
// This rank is about to raise a flag. It returns when no other rank is behind in time.
void store();
// Returns when `ready(condition)` is true, which the world's rank `rank` brings about by a flag.
void await(int rank, bool (*ready)(void*), void* condition);

#else

inline constexpr bool on = false;
inline void copy(void*, const void*, std::size_t) {}
inline bool combine(std::size_t) { return true; }
inline void store() {}
inline void await(int, bool (*)(void*), void*) {}

#endif

}  // namespace crossrail::simulated_time
