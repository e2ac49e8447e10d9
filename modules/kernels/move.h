// A group of threads moves bytes, in the widest units that both ends allow.
#pragma once

#include "gpu_device.h"
#include "tasks.h"

namespace kernels {

struct Group {
  unsigned lane, lanes;
};

struct Piece {
  char* to;
  const char* from;
  uint64_t bytes;
};

constexpr unsigned kInFlight = 4;  // A thread has this many independent loads.

template <class Unit>
GPU_INLINE void move_units(Unit* to, const Unit* from, uint64_t count, Group group) {
  const uint64_t step = uint64_t{kInFlight} * group.lanes;
  uint64_t at = group.lane;
  for (; at + (kInFlight - 1) * uint64_t{group.lanes} < count; at += step) {
    Unit held[kInFlight];
#pragma unroll
    for (unsigned i = 0; i < kInFlight; ++i) held[i] = gpu::load(from + at + uint64_t{i} * group.lanes);
#pragma unroll
    for (unsigned i = 0; i < kInFlight; ++i) gpu::store(to + at + uint64_t{i} * group.lanes, held[i]);
  }
  for (; at < count; at += group.lanes) gpu::store(to + at, gpu::load(from + at));
}

// Moves the head, up to the first place where both ends are aligned to a unit, then the body and the tail.
template <class Unit>
GPU_INLINE void move_aligned(const Piece& piece, Group group) {
  uint64_t head = (sizeof(Unit) - (reinterpret_cast<uint64_t>(piece.to) & (sizeof(Unit) - 1))) & (sizeof(Unit) - 1);
  if (head > piece.bytes) head = piece.bytes;
  const uint64_t count = (piece.bytes - head) / sizeof(Unit);
  const uint64_t tail = head + count * sizeof(Unit);
  if (group.lane < head) piece.to[group.lane] = piece.from[group.lane];
  move_units(reinterpret_cast<Unit*>(piece.to + head), reinterpret_cast<const Unit*>(piece.from + head), count, group);
  if (tail + group.lane < piece.bytes) piece.to[tail + group.lane] = piece.from[tail + group.lane];
}

// A group has at least 16 lanes, so that one pass does for heads and tails.
GPU_INLINE void move_piece(const Piece& piece, Group group) {
  const uint64_t apart = reinterpret_cast<uint64_t>(piece.to) ^ reinterpret_cast<uint64_t>(piece.from);
  if ((apart & 15) == 0) {
    move_aligned<gpu::Pair>(piece, group);
  } else if ((apart & 7) == 0) {
    move_aligned<uint64_t>(piece, group);
  } else if ((apart & 3) == 0) {
    move_aligned<uint32_t>(piece, group);
  } else if ((apart & 1) == 0) {
    move_aligned<uint16_t>(piece, group);
  } else {
    move_aligned<uint8_t>(piece, group);
  }
}

// Returns piece `number` of all blocks. Blocks with equally many pieces take turns, so that all peers are served at once.
GPU_INLINE Piece piece_of(const Blocks& list, const Block* blocks, uint64_t number) {
  uint32_t block = 0;
  uint64_t within = 0;
  if (list.even != 0) {
    block = static_cast<uint32_t>(number % list.count);
    within = number / list.count;
  } else {
    while (block + 1 < list.count && blocks[block + 1].first <= number) ++block;
    within = number - blocks[block].first;
  }
  const uint64_t start = within * list.piece_bytes;
  const uint64_t rest = blocks[block].bytes - start;
  return {blocks[block].to + start, blocks[block].from + start, rest < list.piece_bytes ? rest : list.piece_bytes};
}

}  // namespace kernels
