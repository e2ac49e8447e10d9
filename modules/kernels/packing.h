// Elements of a datatype to a row of bytes, and back: one thread a unit, in the order of the row.
#pragma once

#include "move.h"

namespace kernels {

// The last segment that starts at `within` or before.
GPU_INLINE uint64_t segment_at(const PackTask& task, uint64_t within) {
  uint64_t low = 0, high = task.segment_count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (task.starts[middle] <= within) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Where unit `at` of the row lies, in units from the first element.
template <class Index>
GPU_INLINE int64_t place_of(const PackTask& task, uint64_t at) {
  const Index element = static_cast<Index>(at) / static_cast<Index>(task.element_units);
  const Index within = static_cast<Index>(at) - element * static_cast<Index>(task.element_units);
  const int64_t start = static_cast<int64_t>(element) * task.extent;
  if (task.offsets != nullptr) {
    const uint64_t segment = segment_at(task, within);
    return start + task.offsets[segment] + static_cast<int64_t>(within - task.starts[segment]);
  }
  const Index segment = within / static_cast<Index>(task.segment_units);
  const Index rest = within - segment * static_cast<Index>(task.segment_units);
  return start + task.offset + static_cast<int64_t>(segment) * task.stride + static_cast<int64_t>(rest);
}

template <class Unit, class Index>
GPU_INLINE void pack_units(const PackTask& task) {
  Unit* elements = reinterpret_cast<Unit*>(task.elements);
  Unit* row = reinterpret_cast<Unit*>(task.row);
  const uint64_t threads = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t base = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; base < task.count; base += kInFlight * threads) {
    Unit held[kInFlight];
    Unit* places[kInFlight];
#pragma unroll
    for (unsigned i = 0; i < kInFlight; ++i) {
      const uint64_t at = base + i * threads;
      if (at >= task.count) break;
      places[i] = elements + place_of<Index>(task, task.first + at);
      held[i] = gpu::load(task.unpack != 0 ? row + at : places[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < kInFlight; ++i) {
      const uint64_t at = base + i * threads;
      if (at < task.count) gpu::store(task.unpack != 0 ? places[i] : row + at, held[i]);
    }
  }
}

template <class Unit>
GPU_INLINE void pack_with(const PackTask& task) {
  if (task.narrow != 0) {
    pack_units<Unit, uint32_t>(task);
  } else {
    pack_units<Unit, uint64_t>(task);
  }
}

GPU_INLINE void pack_row(const PackTask& task) {
  switch (task.unit) {
    case 16: return pack_with<gpu::Pair>(task);
    case 8: return pack_with<uint64_t>(task);
    case 4: return pack_with<uint32_t>(task);
    case 2: return pack_with<uint16_t>(task);
    default: return pack_with<uint8_t>(task);
  }
}

}  // namespace kernels
