// These kernels combine elements of several ranks, in the order of the ranks.
//
//   combine           one launch reads a part of all ranks' elements where they lie and writes the results to all ranks.
//                     It never waits for anything. Units are read from everybody before they are written anywhere,
//                     so the results may go where the elements lie.
//   combine_packets   every rank sends all of its elements to all others in packets (packets.h), and combines what
//                     comes.
//
// Both go tile by tile: a group of a CTA's threads brings each rank's row to shared memory, all threads combine them there, and each
// group takes the results to a rank. Rows travel at the same time, and there is little text for a thread to go through: a kernel's text
// comes from memory when it starts, which for few elements lasts longer than all else.
#pragma once

#include "operators.h"
#include "packets.h"

namespace kernels {

// This holds rows of units one after the other in shared memory, with a group of threads for each.
struct Tile {
  Unit* units;
  uint32_t across;       // A group has this many threads.
  uint32_t group, lane;  // They are this thread's. Threads that are left over have groups behind the last row.

  GPU_INLINE Tile(Unit* at, uint32_t rows) : units(at), across(blockDim.x / rows / kLineUnits * kLineUnits) {
    group = threadIdx.x / across;
    lane = threadIdx.x % across;
  }
  GPU_INLINE uint32_t width() const { return across * kEach; }
  // Returns the i-th of the units that this thread brings.
  GPU_INLINE Unit& own(uint32_t row, uint32_t i) const { return units[row * width() + i * across + lane]; }
};

GPU_NOINLINE Unit scaled(Combination combination, Unit unit, Unit by) {
  Unit one[1] = {unit};
  const Unit other[1] = {by};
  combine_units(combination, one, other);
  return one[0];
}

// Scales rows of a tile.
GPU_INLINE void scale_rows(Combination combination, const uint64_t (&by)[2], Unit* units, uint32_t count) {
  for (uint32_t at = threadIdx.x; at < count; at += blockDim.x) units[at] = scaled(combination, units[at], {by[0], by[1]});
}

// Row 0 becomes the first `rows` rows combined. All kernels share one text, because it takes long to compile.
GPU_NOINLINE void combine_rows(Combination combination, Unit* units, uint32_t width, uint32_t rows) {
  for (uint32_t at = threadIdx.x; at < width; at += blockDim.x) {
    Unit sum[1] = {units[at]};
#pragma unroll 1
    for (uint32_t row = 1; row < rows; ++row) {
      const Unit next[1] = {units[row * width + at]};
      combine_units(combination, sum, next);
    }
    units[at] = sum[0];
  }
}

// Row 0 becomes `kept` rows of a tile and `fresh` ones combined, which are scaled before. After the last ones the result is. Each thread takes the same
// units of all rows.
struct Rows {
  uint32_t kept, fresh;
  bool last;
};
struct Combining {
  Combination combination;
  const Scaling& scaling;
};
GPU_INLINE void combine_fresh(const Combining& how, Unit* units, uint32_t width, const Rows& rows) {
  const Scaling& scaling = how.scaling;
  for (uint32_t row = 0; scaling.before != Combination::none && row < rows.fresh; ++row) {
    scale_rows(scaling.before, scaling.by, units + (rows.kept + row) * width, width);
  }
  combine_rows(how.combination, units, width, rows.kept + rows.fresh);
  if (rows.last && scaling.after != Combination::none) scale_rows(scaling.after, scaling.by, units, width);
}

// Brings the rows of all ranks to one tile, as many at a time as there are groups. Then row 0 holds their combination.
template <unsigned kMost>
GPU_INLINE void combine_tile(const CombineTask<kMost>& task, const Tile& tile, const OwnUnits& own) {
  for (uint32_t done = 0; done < task.from_count;) {
    const uint32_t kept = done > 0 ? 1 : 0;  // Row 0 is what the rows so far have come to.
    const uint32_t fresh = task.from_count - done < task.rows - kept ? task.from_count - done : task.rows - kept;
    if (tile.group < fresh) {
      // Each device begins with another rank. If all began with the same, what leaves its device would hold them up.
      const uint32_t row = (tile.group + task.turn) % fresh;
      own.read(task.from[done + row], [&](unsigned i, const Unit& unit) { tile.own(kept + row, i) = unit; });
    }
    gpu::sync_threads();
    done += fresh;
    combine_fresh({task.elements.combination, task.scaling}, tile.units, tile.width(), {kept, fresh, done == task.from_count});
    gpu::sync_threads();
  }
}

template <unsigned kMost>
GPU_INLINE void combine(const CombineTask<kMost>& task) {
  __shared__ Unit shared[kCombineThreads * kEach];
  const uint64_t before = last_value(task.signal);
  const UnitsOf units{task.elements};
  const Tile tile(shared, task.rows);
  const uint64_t count = units.count(), step = uint64_t{gridDim.x} * tile.width();
  for (uint64_t first = uint64_t{blockIdx.x} * tile.width(); first < count; first += step) {
    const OwnUnits own(units, first + tile.lane, tile.across);
    combine_tile(task, tile, own);
    // Groups take turns. Those behind the last row have no units.
    for (uint32_t rank = tile.group; tile.group < task.rows && rank < task.to_count; rank += task.rows) {
      own.write(task.to[rank], [&](unsigned i) { return tile.own(0, i); });
    }
    gpu::sync_threads();
  }
  finish(task.signal, before);
}

// A unit travels in two packets. The group of a row sends to the rank whose row it receives.
struct CombiningRound {
  Round<kFewRanks> round;
  const UnitsOf& units;
  const Tile& tile;
  uint32_t peer;
  uint64_t count;

  GPU_INLINE gpu::Pair* packets(uint32_t to, uint32_t from, uint64_t number) const { return round.region(to, from) + 2 * number; }

  GPU_INLINE void send(uint64_t first) const {
    const PacketsTask<kFewRanks>& task = round.task;
    if (tile.group >= task.ranks || peer == task.rank) return;
    for (uint64_t number = first + tile.lane; number < count && number < first + tile.width(); number += tile.across) {
      const Unit unit = units.read(task.send + peer * task.send_pitch, number);
      gpu::Pair* const to = packets(peer, task.rank, number);
      gpu::store_system(to, stamp(unit.low, round.number));
      gpu::store_system(to + 1, stamp(unit.high, round.number));
    }
  }

  // Receives into the tile, and takes this rank's own elements from its memory. It returns false if it has given up.
  GPU_INLINE bool receive(uint64_t first) {
    const PacketsTask<kFewRanks>& task = round.task;
    if (tile.group >= task.ranks) return true;
    if (peer == task.rank) {
      OwnUnits(units, first + tile.lane, tile.across).read(task.send + peer * task.send_pitch, [&](unsigned i, const Unit& unit) { tile.own(peer, i) = unit; });
      return true;
    }
    gpu::Pair low[kEach] = {}, high[kEach] = {};
    const gpu::Pair* const at = packets(task.rank, peer, first + tile.lane);
    const auto here = [&](unsigned i) { return first + tile.lane + i * tile.across >= count || (stamped(low[i], round.number) && stamped(high[i], round.number)); };
    for (bool all = false; !all;) {
      all = true;
#pragma unroll
      for (unsigned i = 0; i < kEach; ++i) {
        if (here(i)) continue;
        low[i] = gpu::load_system(at + 2 * i * tile.across);
        high[i] = gpu::load_system(at + 2 * i * tile.across + 1);
        all = all && here(i);
      }
      if (!all && round.told_to_abort()) return false;
    }
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i) tile.own(peer, i) = {data_of(low[i]), data_of(high[i])};
    return true;
  }
};

GPU_INLINE void combine_arrived(const CombinePacketsTask& whole, Unit* units, uint32_t width) {
  combine_fresh({whole.elements.combination, whole.scaling}, units, width, {0, whole.packets.ranks, true});
}

GPU_INLINE void combine_packets(const CombinePacketsTask& whole) {
  __shared__ Unit shared[kCombineThreads * kEach];
  const PacketsTask<kFewRanks>& task = whole.packets;
  const uint64_t before = last_value(task.signal);
  const UnitsOf units{whole.elements};
  const Tile tile(shared, task.ranks);
  CombiningRound round{next_round(task), units, tile, (task.rank + 1 + tile.group) % task.ranks, units.count()};
  const uint64_t begin = uint64_t{blockIdx.x} * tile.width(), step = uint64_t{gridDim.x} * tile.width();
  for (uint64_t first = begin; first < round.count; first += step) round.send(first);
  bool stayed = true;
  for (uint64_t first = begin; first < round.count; first += step) {
    stayed = stayed && round.receive(first);
    gpu::sync_threads();
    combine_arrived(whole, shared, tile.width());
    // The threads that have combined them write them.
    for (uint64_t at = threadIdx.x; at < tile.width() && first + at < round.count; at += blockDim.x) units.write(task.recv, first + at, shared[at]);
    gpu::sync_threads();
  }
  end_round(task, round.round.number, before, stayed);
}

}  // namespace kernels
