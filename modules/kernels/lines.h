// These packets have 128 bytes, 120 of them data (the LL128 protocol). Eight lanes of a warp write a line in one instruction, and what
// links the devices brings it whole, so that a rank that finds the round's number at its end has all of it. Rounds are those of packets.h.
//
// Two lines together carry 15 units of 16 bytes: seven of each line's first seven lanes, and one of which each last lane has a half, with
// the number behind it.
//
//   first line    unit 0 | 1 | ... | 6  | lower half of 14, number
//   second line   unit 7 | 8 | ... | 13 | upper half of 14, number
//   second line   unit 7 | 8 | ... | 13 | upper half of 14, number
#pragma once

#include "combine.h"

namespace kernels {

constexpr unsigned kLineLanes = kLineUnits;                   // A line has this many lanes.
constexpr unsigned kGroupsOfAWarp = kWarpLanes / kLineLanes;  // Each has a pair of lines.

// These are calls, because they are seldom needed and their text is long.
GPU_NOINLINE Unit read_odd(const char* at, uint64_t many, uint32_t align) { return read_some(at, many, align); }
GPU_NOINLINE void write_odd(char* at, Unit unit, uint64_t many, uint32_t align) { write_some(at, unit, many, align); }

// These are a lane's units of kPairsAtATime pairs of lines.
struct LaneUnits {
  Unit first[kPairsAtATime], second[kPairsAtATime];
};

// This is a row of units in pairs of lines, of which a warp has four from `begin` on, four from `begin` + `step` on, ...
struct PairsOfLines {
  const UnitsOf& units;
  uint64_t begin, step;
  uint64_t count;  // It counts the pairs of the row.
  uint64_t whole;  // It counts units of 16 bytes at multiples of 16.
  uint64_t all;    // It counts all units.
  unsigned lane;   // It is the lane of a line.
  bool is_last;

  GPU_INLINE PairsOfLines(const UnitsOf& row, uint64_t from, uint64_t apart)
      : units(row), begin(from), step(apart), whole(row.whole()), all(row.count()), lane(threadIdx.x % kLineLanes) {
    count = (all + kUnitsOfAPair - 1) / kUnitsOfAPair;
    is_last = lane == kLineLanes - 1;
  }
  GPU_INLINE uint64_t pair(uint64_t base, unsigned i) const { return base + i * step + threadIdx.x % kWarpLanes / kLineLanes; }
  GPU_INLINE uint64_t first(uint64_t pair) const { return pair * kUnitsOfAPair + (is_last ? kUnitsOfAPair - 1 : lane); }
  GPU_INLINE uint64_t second(uint64_t pair) const { return is_last ? all : pair * kUnitsOfAPair + kLineLanes - 1 + lane; }
  GPU_INLINE uint64_t warp_step() const { return kPairsAtATime * step; }

  GPU_INLINE void read(const char* from, uint64_t base, LaneUnits& got) const {
    const Unit* const at = reinterpret_cast<const Unit*>(from);
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      const uint64_t one = first(pair(base, i)), other = second(pair(base, i));
      got.first[i] = got.second[i] = {};
      if (one < whole) got.first[i] = gpu::load(at + one);
      if (other < whole) got.second[i] = gpu::load(at + other);
    }
    if (whole == all) return;
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      const uint64_t one = first(pair(base, i)), other = second(pair(base, i));
      if (one >= whole && one < all) got.first[i] = read_odd(units.at(from, one), units.bytes(one), units.elements.align);
      if (other >= whole && other < all) got.second[i] = read_odd(units.at(from, other), units.bytes(other), units.elements.align);
    }
  }

  GPU_INLINE void write(char* to, uint64_t base, const LaneUnits& held) const {
    Unit* const at = reinterpret_cast<Unit*>(to);
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      const uint64_t one = first(pair(base, i)), other = second(pair(base, i));
      if (one < whole) gpu::store(at + one, held.first[i]);
      if (other < whole) gpu::store(at + other, held.second[i]);
    }
    if (whole == all) return;
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      const uint64_t one = first(pair(base, i)), other = second(pair(base, i));
      if (one >= whole && one < all) write_odd(units.at(to, one), held.first[i], units.bytes(one), units.elements.align);
      if (other >= whole && other < all) write_odd(units.at(to, other), held.second[i], units.bytes(other), units.elements.align);
    }
  }

  // Returns where this lane's part of a pair's first line lies. The part of the second line is a line behind.
  GPU_INLINE uint64_t place(uint64_t pair) const { return pair * 2 * kLineUnits + lane; }

  // All lanes of a warp come here, and all of a line are there or not.
  GPU_INLINE void send(gpu::Pair* lines, uint64_t base, const LaneUnits& from, uint64_t number) const {
    gpu::sync_lanes();
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      const gpu::Pair one = is_last ? gpu::Pair{from.first[i].low, number} : from.first[i];
      const gpu::Pair other = is_last ? gpu::Pair{from.first[i].high, number} : from.second[i];
      if (pair(base, i) >= count) continue;
      gpu::store_system(lines + place(pair(base, i)), one);
      gpu::store_system(lines + place(pair(base, i)) + kLineUnits, other);
    }
  }

  // Returns whether all of them have come, on all lanes of the warp alike. One load takes data and number, because the data of an earlier
  // load may be older.
  GPU_INLINE bool look(const gpu::Pair* lines, uint64_t base, LaneUnits& got, uint64_t number) const {
    bool here = true;
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      if (pair(base, i) >= count) continue;
      got.first[i] = gpu::load_system(lines + place(pair(base, i)));
      got.second[i] = gpu::load_system(lines + place(pair(base, i)) + kLineUnits);
    }
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      if (is_last && pair(base, i) < count) here = here && got.first[i].high == number && got.second[i].high == number;
    }
    return gpu::all_lanes(here);
  }

  template <unsigned kMost>
  GPU_INLINE bool receive(Round<kMost>& round, const gpu::Pair* lines, uint64_t base, LaneUnits& got) const {
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) got.first[i] = got.second[i] = {};
    while (!look(lines, base, got, round.number)) {
      if (!gpu::all_lanes(!round.told_to_abort())) return false;
    }
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      if (is_last) got.first[i].high = got.second[i].low;
    }
    return true;
  }
};

// A warp takes one share of a block after another.
struct LineShare {
  uint32_t peer;
  PairsOfLines pairs;
};

template <unsigned kMost>
GPU_INLINE void send_lines(const Round<kMost>& round, const LineShare& share) {
  const PacketsTask<kMost>& task = round.task;
  LaneUnits held;
  for (uint64_t base = share.pairs.begin; base < share.pairs.count; base += share.pairs.warp_step()) {
    share.pairs.read(task.send + share.peer * task.send_pitch, base, held);
    if (share.peer == task.rank) {
      share.pairs.write(task.recv + share.peer * task.recv_pitch, base, held);
    } else {
      share.pairs.send(round.region(share.peer, task.rank), base, held, round.number);
    }
  }
}

// Returns false if it has given up.
template <unsigned kMost>
GPU_INLINE bool receive_lines(Round<kMost>& round, const LineShare& share) {
  const PacketsTask<kMost>& task = round.task;
  if (share.peer == task.rank) return true;
  LaneUnits held;
  for (uint64_t base = share.pairs.begin; base < share.pairs.count; base += share.pairs.warp_step()) {
    if (!share.pairs.receive(round, round.region(task.rank, share.peer), base, held)) return false;
    share.pairs.write(task.recv + share.peer * task.recv_pitch, base, held);
  }
  return true;
}

template <unsigned kMost>
GPU_INLINE void exchange_lines(const PacketsTask<kMost>& task) {
  const uint64_t before = last_value(task.signal);
  Round<kMost> round = next_round(task);
  const Elements bytes{task.block_bytes, Combination::none, sizeof(Unit), task.align, 0};
  const UnitsOf units{bytes};
  const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
  const uint32_t warps = gridDim.x * blockDim.x / kWarpLanes;
  const uint32_t parts = warps > task.ranks ? warps / task.ranks : 1;
  const auto share_of = [&](uint32_t job) {
    const uint32_t peer = (task.rank + 1 + job % task.ranks) % task.ranks;
    return LineShare{peer, PairsOfLines(units, uint64_t{job / task.ranks} * kGroupsOfAWarp, uint64_t{parts} * kGroupsOfAWarp)};
  };
  for (uint32_t job = warp; job < parts * task.ranks; job += warps) send_lines(round, share_of(job));
  bool stayed = true;
  for (uint32_t job = warp; stayed && job < parts * task.ranks; job += warps) stayed = receive_lines(round, share_of(job));
  end_round(task, round.number, before, stayed);
}

// This is a tile of rows in shared memory, with some warps for each. Warps that are left over have none.
struct LineTile {
  Unit* units;
  uint32_t width;   // It is the number of units of a row.
  uint32_t group;   // It is the group of this thread's warp.
  uint32_t warp;    // It is the number of the warp in the group.
  uint32_t warps;   // A group has this many warps.

  GPU_INLINE LineTile(Unit* at, uint32_t rows) : units(at), warps(blockDim.x / kWarpLanes / rows) {
    group = threadIdx.x / kWarpLanes / warps;
    warp = threadIdx.x / kWarpLanes % warps;
    width = warps * kGroupsOfAWarp * kPairsAtATime * kUnitsOfAPair;
  }
  // Returns the first pair of this warp in a tile that begins with unit `first`.
  GPU_INLINE uint64_t begin(uint64_t first) const { return first / kUnitsOfAPair + warp * kGroupsOfAWarp; }
  GPU_INLINE uint64_t step() const { return uint64_t{warps} * kGroupsOfAWarp; }

  GPU_INLINE void keep(const PairsOfLines& pairs, uint64_t first, uint32_t row, const LaneUnits& got) const {
    Unit* const at = units + row * width;
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      const uint64_t pair = pairs.pair(pairs.begin, i);
      if (pair >= pairs.count) continue;
      at[pairs.first(pair) - first] = got.first[i];
      if (!pairs.is_last) at[pairs.second(pair) - first] = got.second[i];
    }
  }
};

// Returns false if it has given up.
template <unsigned kMost>
GPU_INLINE bool receive_tile(Round<kMost>& round, const PairsOfLines& pairs, const LineTile& tile, uint64_t first) {
  const PacketsTask<kMost>& task = round.task;
  const uint32_t peer = (task.rank + 1 + tile.group) % task.ranks;
  if (tile.group >= task.ranks || pairs.begin >= pairs.count) return true;
  LaneUnits got;
  if (peer == task.rank) {
    pairs.read(task.send + peer * task.send_pitch, pairs.begin, got);
  } else if (!pairs.receive(round, round.region(task.rank, peer), pairs.begin, got)) {
    return false;
  }
  tile.keep(pairs, first, peer, got);
  return true;
}

// Does what combine_packets does, by lines.
GPU_INLINE void combine_lines(const CombinePacketsTask& whole) {
  __shared__ Unit shared[kCombineThreads / kLineLanes * kPairsAtATime * kUnitsOfAPair];
  const PacketsTask<kFewRanks>& task = whole.packets;
  const uint64_t before = last_value(task.signal);
  const UnitsOf units{whole.elements};
  const LineTile tile(shared, task.ranks);
  Round<kFewRanks> round = next_round(task);
  const uint32_t peer = (task.rank + 1 + tile.group) % task.ranks;
  const uint64_t count = units.count(), begin = uint64_t{blockIdx.x} * tile.width, step = uint64_t{gridDim.x} * tile.width;
  for (uint64_t first = begin; first < count && tile.group < task.ranks && peer != task.rank; first += step) {
    const PairsOfLines pairs(units, tile.begin(first), tile.step());
    LaneUnits held;
    pairs.read(task.send + peer * task.send_pitch, pairs.begin, held);
    pairs.send(round.region(peer, task.rank), pairs.begin, held, round.number);
  }
  bool stayed = true;
  for (uint64_t first = begin; first < count; first += step) {
    stayed = stayed && receive_tile(round, PairsOfLines(units, tile.begin(first), tile.step()), tile, first);
    gpu::sync_threads();
    combine_arrived(whole, shared, tile.width);
    for (uint64_t at = threadIdx.x; at < tile.width && first + at < count; at += blockDim.x) units.write(task.recv, first + at, shared[at]);
    gpu::sync_threads();
  }
  end_round(task, round.number, before, stayed);
}

}  // namespace kernels
