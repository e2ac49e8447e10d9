// Elements of several ranks combined, in the order of the ranks.
//
//   combine           one launch reads a part of all ranks' elements where they lie and writes the results to all ranks.
//                     It never waits for anything. A thread reads a unit of everybody before it writes that unit anywhere,
//                     so the results may go where the elements lie.
//   combine_packets   every rank sends all of its elements to all others in packets (packets.h), and combines what
//                     comes.
#pragma once

#include "operators.h"
#include "packets.h"

namespace kernels {

GPU_INLINE Unit read_whole(const char* from, uint32_t align) {
  if (align == sizeof(Unit)) return gpu::load(reinterpret_cast<const Unit*>(from));
  return {read_unit(from, kPacketData, align), read_unit(from + kPacketData, kPacketData, align)};
}
GPU_INLINE void write_whole(char* to, const Unit& unit, uint32_t align) {
  if (align == sizeof(Unit)) return gpu::store(reinterpret_cast<Unit*>(to), unit);
  write_unit(to, unit.low, kPacketData, align);
  write_unit(to + kPacketData, unit.high, kPacketData, align);
}

GPU_INLINE uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

// Unit `number`: 16 bytes, fewer of odd elements and at the end.
struct UnitsOf {
  const Elements& elements;
  GPU_INLINE uint64_t count() const { return (elements.bytes + elements.unit_bytes - 1) / elements.unit_bytes; }
  GPU_INLINE uint64_t bytes(uint64_t number) const { return least(elements.unit_bytes, elements.bytes - number * elements.unit_bytes); }
  GPU_INLINE Unit read(const char* from, uint64_t number) const {
    const char* at = from + number * elements.unit_bytes;
    const uint64_t many = bytes(number);
    if (many == sizeof(Unit)) return read_whole(at, elements.align);
    return {read_unit(at, least(many, kPacketData), elements.align), many > kPacketData ? read_unit(at + kPacketData, many - kPacketData, elements.align) : 0};
  }
  GPU_INLINE void write(char* to, uint64_t number, const Unit& unit) const {
    char* at = to + number * elements.unit_bytes;
    const uint64_t many = bytes(number);
    if (many == sizeof(Unit)) return write_whole(at, unit, elements.align);
    write_unit(at, unit.low, least(many, kPacketData), elements.align);
    if (many > kPacketData) write_unit(at + kPacketData, unit.high, many - kPacketData, elements.align);
  }
};

struct Operands {
  const char* const* from;
  char* const* to;
  uint32_t from_count, to_count;
  uint32_t turn;  // with which row to begin, counted around
};

constexpr uint32_t kTogether = 4;  // rows whose units are on their way at the same time

// Some units of rows that follow each other. All are asked for before the first is used, beginning with another row on every device:
// where all begin with the same one, what leaves its device holds them up.
struct RowsTogether {
  Unit units[kTogether][kInFlight];
  uint32_t count, turn;

  // `read(row, i)`: unit i.
  template <class Read>
  GPU_INLINE void fetch(Read read) {
#pragma unroll
    for (uint32_t slot = 0; slot < kTogether; ++slot) {
      if (slot >= count) break;
      const uint32_t row = slot + turn < count ? slot + turn : slot + turn - count;
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) units[slot][i] = read(row, i);
    }
  }
  // Registers cannot be indexed.
  GPU_INLINE void take(uint32_t row, Unit (&taken)[kInFlight]) const {
    const uint32_t slot = row >= turn ? row - turn : row + count - turn;
#pragma unroll
    for (unsigned i = 0; i < kInFlight; ++i) {
      taken[i] = units[0][i];
#pragma unroll
      for (uint32_t other = 1; other < kTogether; ++other) {
        if (slot == other) taken[i] = units[other][i];
      }
    }
  }
};

// Whether those of a thread's units that there are have 16 bytes each and lie at multiples of 16.
GPU_INLINE bool all_whole(const UnitsOf& units, uint64_t base, uint64_t threads) {
  if (units.elements.align != sizeof(Unit) || units.elements.unit_bytes != sizeof(Unit)) return false;
  const uint64_t short_one = units.elements.bytes % sizeof(Unit) != 0 ? units.elements.bytes / sizeof(Unit) : ~uint64_t{0};
  for (unsigned i = 0; i < kInFlight; ++i) {
    if (base + i * threads == short_one) return false;
  }
  return true;
}

// One text for all kernels: it takes long to compile.
GPU_NOINLINE void combine_operands(const Elements& elements, const Operands& all) {
  const UnitsOf units{elements};
  const uint64_t count = units.count();
  const uint64_t threads = uint64_t{gridDim.x} * blockDim.x;
  const uint64_t step = threads * kInFlight;
  for (uint64_t base = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; base < count; base += step) {
    Unit sum[kInFlight] = {};
    const bool whole = all_whole(units, base, threads);
    const uint32_t most = whole ? kTogether : 1;
    RowsTogether rows = {};
    for (uint32_t first = 0; first < all.from_count; first += most) {
      rows.count = all.from_count - first < most ? all.from_count - first : most;
      rows.turn = all.turn % rows.count;
      const auto inside = [&](unsigned i) { return base + i * threads < count; };
      if (whole) {
        rows.fetch([&](uint32_t row, unsigned i) {
          return inside(i) ? gpu::load(reinterpret_cast<const Unit*>(all.from[first + row]) + base + i * threads) : Unit{};
        });
      } else {
#pragma unroll
        for (unsigned i = 0; i < kInFlight; ++i) rows.units[0][i] = inside(i) ? units.read(all.from[first], base + i * threads) : Unit{};
      }
#pragma unroll 1
      for (uint32_t row = 0; row < rows.count; ++row) {
        Unit next[kInFlight];
        rows.take(row, first + row == 0 ? sum : next);
        if (first + row > 0) combine_units(elements.combination, sum, next);
      }
    }
    for (uint32_t rank = 0; rank < all.to_count; ++rank) {
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) {
        if (base + i * threads < count) units.write(all.to[rank], base + i * threads, sum[i]);
      }
    }
  }
}

template <unsigned kMost>
GPU_INLINE void combine(const CombineTask<kMost>& task) {
  const uint64_t before = last_value(task.signal);
  combine_operands(task.elements, {task.from, task.to, task.from_count, task.to_count, task.turn});
  finish(task.signal, before);
}

// A unit travels in two packets.
struct CombiningRound {
  Round<kFewRanks> round;
  const UnitsOf& units;

  GPU_INLINE gpu::Pair* packets(uint32_t to, uint32_t from, uint64_t number) const { return round.region(to, from) + 2 * number; }

  GPU_INLINE void send(uint64_t number) const {
    const PacketsTask<kFewRanks>& task = round.task;
    const Unit unit = units.read(task.send, number);
    for (uint32_t step = 1; step < task.ranks; ++step) {
      const uint32_t peer = (task.rank + step) % task.ranks;
      gpu::Pair* const to = packets(peer, task.rank, number);
      gpu::store_system(to, stamp(unit.low, round.number));
      gpu::store_system(to + 1, stamp(unit.high, round.number));
    }
  }

  // Some ranks' units, this rank's own from its memory. False: given up.
  GPU_INLINE bool receive(uint32_t first, uint64_t number, Unit (&got)[kInFlight]) {
    const PacketsTask<kFewRanks>& task = round.task;
    gpu::Pair low[kInFlight] = {}, high[kInFlight] = {};
    const auto awaited = [&](unsigned i) { return first + i < task.ranks && first + i != task.rank; };
    for (bool all = false; !all;) {
      all = true;
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) {
        if (!awaited(i) || (stamped(low[i], round.number) && stamped(high[i], round.number))) continue;
        low[i] = gpu::load_system(packets(task.rank, first + i, number));
        high[i] = gpu::load_system(packets(task.rank, first + i, number) + 1);
        all = all && stamped(low[i], round.number) && stamped(high[i], round.number);
      }
      if (!all && round.told_to_abort()) return false;
    }
#pragma unroll
    for (unsigned i = 0; i < kInFlight; ++i) {
      if (first + i == task.rank) got[i] = units.read(task.send, number);
      else got[i] = {data_of(low[i]), data_of(high[i])};
    }
    return true;
  }

  GPU_INLINE bool combine(uint64_t number) {
    const PacketsTask<kFewRanks>& task = round.task;
    Unit sum[1] = {};
    for (uint32_t first = 0; first < task.ranks; first += kInFlight) {
      Unit got[kInFlight];
      if (!receive(first, number, got)) return false;
      // In turn through one place: the loop's text is long, and registers have no index.
#pragma unroll 1
      for (uint32_t rank = first; rank < first + kInFlight && rank < task.ranks; ++rank) {
        const Unit next[1] = {got[0]};
        if (rank == 0) sum[0] = next[0];
        else combine_units(units.elements.combination, sum, next);
#pragma unroll
        for (unsigned i = 0; i + 1 < kInFlight; ++i) got[i] = got[i + 1];
      }
    }
    units.write(task.recv, number, sum[0]);
    return true;
  }
};

GPU_INLINE void combine_packets(const CombinePacketsTask& whole) {
  const PacketsTask<kFewRanks>& task = whole.packets;
  const uint64_t before = last_value(task.signal);
  BufferTail* tail = reinterpret_cast<BufferTail*>(task.buffers[task.rank] + task.tail);
  const UnitsOf units{whole.elements};
  const uint64_t count = units.count();
  CombiningRound round{{task, round_after(tail->round)}, units};
  const uint64_t first = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, threads = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t number = first; number < count; number += threads) round.send(number);
  bool stayed = true;
  for (uint64_t number = first; stayed && number < count; number += threads) stayed = round.combine(number);
  end_round(task, round.round.number, before, stayed);
}

}  // namespace kernels
