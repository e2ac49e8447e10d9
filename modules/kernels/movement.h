// Elements of datatypes to where others lie, several movements in one launch: one thread a unit, in the order of the elements' bytes.
#pragma once

#include "move.h"
#include "signal.h"

namespace kernels {

// The last run that starts at `within` or before.
GPU_INLINE uint64_t run_at(const Placing& side, uint64_t within) {
  uint64_t low = 0, high = side.run_count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (side.starts[middle] <= within) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Where unit `number` of a movement lies, in units.
template <class Index>
GPU_INLINE int64_t place_of(const Placing& side, uint64_t number) {
  const uint64_t at = side.first + number;
  if (side.element_units == 0) return static_cast<int64_t>(at);
  const Index element = static_cast<Index>(at) / static_cast<Index>(side.element_units);
  const Index within = static_cast<Index>(at) - element * static_cast<Index>(side.element_units);
  const int64_t start = static_cast<int64_t>(element) * side.extent;
  if (side.offsets != nullptr) {
    const uint64_t run = run_at(side, within);
    return start + side.offsets[run] + static_cast<int64_t>(within - side.starts[run]);
  }
  const Index run = within / static_cast<Index>(side.run_units);
  const Index rest = within - run * static_cast<Index>(side.run_units);
  return start + side.offset + static_cast<int64_t>(run) * side.stride + static_cast<int64_t>(rest);
}

template <class Unit, class Index>
GPU_INLINE void move_tile(const Movement& movement, uint64_t tile, uint32_t a_thread) {
  const uint64_t base = tile * a_thread * blockDim.x + threadIdx.x;
  Unit held[kInFlight];
#pragma unroll
  for (unsigned i = 0; i < kInFlight; ++i) {
    const uint64_t at = base + uint64_t{i} * blockDim.x;
    if (i < a_thread && at < movement.count) held[i] = gpu::load(reinterpret_cast<const Unit*>(movement.from.at) + place_of<Index>(movement.from, at));
  }
#pragma unroll
  for (unsigned i = 0; i < kInFlight; ++i) {
    const uint64_t at = base + uint64_t{i} * blockDim.x;
    if (i < a_thread && at < movement.count) gpu::store(reinterpret_cast<Unit*>(movement.to.at) + place_of<Index>(movement.to, at), held[i]);
  }
}

template <class Unit>
GPU_INLINE void move_tile_of(const Movement& movement, uint64_t tile, uint32_t a_thread) {
  if (movement.narrow != 0) {
    move_tile<Unit, uint32_t>(movement, tile, a_thread);
  } else {
    move_tile<Unit, uint64_t>(movement, tile, a_thread);
  }
}

// Movements of equally many tiles take turns, so that all peers are served at once.
GPU_INLINE void move_tile_number(const MoveTask& task, uint64_t number) {
  uint32_t which = 0;
  uint64_t tile = 0;
  if (task.even != 0) {
    which = static_cast<uint32_t>(number % task.count);
    tile = number / task.count;
  } else {
    while (which + 1 < task.count && task.movements[which + 1].first_tile <= number) ++which;
    tile = number - task.movements[which].first_tile;
  }
  const Movement& movement = task.movements[which];
  switch (movement.unit) {
    case 16: return move_tile_of<gpu::Pair>(movement, tile, task.a_thread);
    case 8: return move_tile_of<uint64_t>(movement, tile, task.a_thread);
    case 4: return move_tile_of<uint32_t>(movement, tile, task.a_thread);
    case 2: return move_tile_of<uint16_t>(movement, tile, task.a_thread);
    default: return move_tile_of<uint8_t>(movement, tile, task.a_thread);
  }
}

GPU_INLINE void move_elements(const MoveTask& task) {
  const uint64_t before = last_value(task.signal);
  for (uint64_t tile = blockIdx.x; tile < task.tiles; tile += gridDim.x) move_tile_number(task, tile);
  finish(task.signal, before);
}

}  // namespace kernels
