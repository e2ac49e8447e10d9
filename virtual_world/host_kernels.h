// This is what the kernels of host_device.h do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "crossrail/device_module.h"

namespace crossrail::virtual_world {

// Returns where the processor finds what lies at an address of the device's.
std::byte* touch(const void* pointer);
bool on_device(const void* pointer);

inline std::uint64_t read_word(const void* word) {
  return std::atomic_ref<std::uint64_t>(*static_cast<std::uint64_t*>(const_cast<void*>(word))).load(std::memory_order_acquire);
}
inline void write_word(void* word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(*static_cast<std::uint64_t*>(word)).store(value, std::memory_order_release);
}

size_t packets_bytes(int ranks, size_t block_bytes);
bool run_packets(const crossrail_packets& asked, const std::vector<void*>& buffers);  // It returns false if it has given up.
bool combines(const crossrail_reduction& reduction);
void run_combination(const crossrail_combination& asked, const std::vector<const void*>& from, const std::vector<void*>& to);
void run_barrier(const crossrail_barrier& asked, const std::vector<void*>& buffers);
// These are host copies of a side's arrays that do not lie on the device. An array is empty if it does.
struct CountedArrays {
  std::vector<std::int32_t> counts, displacements;
};
struct CountedWork {
  crossrail_counted_exchange asked;
  std::vector<void*> buffers, to;
  CountedArrays send, recv;
};
CountedWork counted_work(const crossrail_counted_exchange& asked);
void run_counted(const CountedWork& work);
// This is a movement with copies of its lists.
struct KeptMovement {
  crossrail_movement asked;
  std::vector<crossrail_segment> from, to;
};
void run_movement(const KeptMovement& kept);

}  // namespace crossrail::virtual_world
