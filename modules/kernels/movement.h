// These kernels move elements of datatypes to where others lie, several movements in one launch. One thread moves a unit, in the order of
// the elements' bytes.
#pragma once

#include "move.h"
#include "signal.h"

namespace kernels {

GPU_INLINE uint64_t quotient(uint64_t number, const Divisor& by) {
  return by.multiplier == 0 ? number : gpu::multiply_high(number, by.multiplier) >> by.shift;
}

// Returns the last run that starts at `within` or before.
GPU_INLINE uint64_t run_at(const ListedRuns& runs, uint64_t within) {
  uint64_t low = 0, high = runs.count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (runs.starts[middle] <= within) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Returns where unit `number` of a movement lies, in units.
GPU_INLINE int64_t place_of(const Placing& side, uint64_t number) {
  const uint64_t at = side.first + number;
  if (side.element_units == 0) return static_cast<int64_t>(at);
  const uint64_t element = quotient(at, side.by_element);
  const uint64_t within = at - element * side.element_units;
  const int64_t start = static_cast<int64_t>(element) * side.extent;
  if (side.is_listed != 0) {
    const uint64_t run = run_at(side.listed, within);
    return start + side.listed.offsets[run] + static_cast<int64_t>(within - side.listed.starts[run]);
  }
  const uint64_t run = quotient(within, side.even.by_units);
  return start + side.even.offset + static_cast<int64_t>(run) * side.even.stride + static_cast<int64_t>(within - run * side.even.units);
}

// Moves unit `base` and up to kMany - 1 more, each a CTA's threads further on.
template <class Unit, unsigned kMany>
GPU_INLINE void move_units_of(const Movement& movement, uint64_t base) {
  Unit held[kMany];
#pragma unroll
  for (unsigned i = 0; i < kMany; ++i) {
    const uint64_t at = base + uint64_t{i} * blockDim.x;
    if (at < movement.count) held[i] = gpu::load(reinterpret_cast<const Unit*>(movement.from.at) + place_of(movement.from, at));
  }
#pragma unroll
  for (unsigned i = 0; i < kMany; ++i) {
    const uint64_t at = base + uint64_t{i} * blockDim.x;
    if (at < movement.count) gpu::store(reinterpret_cast<Unit*>(movement.to.at) + place_of(movement.to, at), held[i]);
  }
}

// Few units are not worth the longer text, which comes from memory when the kernel starts.
template <class Unit>
GPU_INLINE void move_tile(const Movement& movement, uint64_t tile, uint32_t a_thread) {
  const uint64_t base = tile * a_thread * blockDim.x + threadIdx.x;
  if (a_thread == kInFlight) return move_units_of<Unit, kInFlight>(movement, base);
#pragma unroll 1
  for (unsigned i = 0; i < a_thread; ++i) move_units_of<Unit, 1>(movement, base + uint64_t{i} * blockDim.x);
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
    case 16: return move_tile<gpu::Pair>(movement, tile, task.a_thread);
    case 8: return move_tile<uint64_t>(movement, tile, task.a_thread);
    case 4: return move_tile<uint32_t>(movement, tile, task.a_thread);
    case 2: return move_tile<uint16_t>(movement, tile, task.a_thread);
    default: return move_tile<uint8_t>(movement, tile, task.a_thread);
  }
}

GPU_INLINE void move_elements(const MoveTask& task) {
  const uint64_t before = last_value(task.signal);
  for (uint64_t tile = blockIdx.x; tile < task.tiles; tile += gridDim.x) move_tile_number(task, tile);
  finish(task.signal, before);
}

}  // namespace kernels
