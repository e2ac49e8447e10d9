// These are calls with long blocks. A channel has a slice of each block, and two CTAs on every device: one writes the slice chunk by chunk into slots in the
// receivers' memory (the receive buffers of this form), the other one takes what has arrived. Flags are apart from the data, so that data move in the
// widest units and fill the links (NCCL's simple protocol).
//
// A rank writes chunk m of a slice into slot m % 4 once the receiver has told that it has taken the chunk that was in the slot, and then tells how many it
// has written. Chunks are counted from call to call, alike on all ranks, because slices are as long on all of them. All CTAs must be on the device at once.
#pragma once

#include "combine.h"

namespace kernels {

// It is a slice of all blocks.
struct Channel {
  const ChunksTask& task;
  const PacketsTask<kFewRanks>& ranks;
  uint64_t begin, bytes;
  uint64_t before;  // So many chunks have been in this channel in earlier calls.

  GPU_INLINE explicit Channel(const ChunksTask& asked) : task(asked), ranks(asked.packets), begin(number() * asked.slice_bytes), bytes(0), before(*counter()) {
    if (begin < ranks.block_bytes) bytes = least(task.slice_bytes, ranks.block_bytes - begin);
  }
  GPU_INLINE static uint64_t number() { return blockIdx.x / 2; }
  GPU_INLINE static bool writes() { return blockIdx.x % 2 == 0; }
  GPU_INLINE uint64_t count() const { return (bytes + task.chunk_bytes - 1) / task.chunk_bytes; }
  GPU_INLINE uint64_t place(uint64_t chunk) const { return begin + chunk * task.chunk_bytes; }
  GPU_INLINE uint64_t length(uint64_t chunk) const { return least(task.chunk_bytes, bytes - chunk * task.chunk_bytes); }

  // This line in the memory of `owner` says how many chunks `other` has written for it, and how many of its chunks that one has taken.
  GPU_INLINE gpu::Pair* line(uint32_t owner, uint32_t other) const {
    return reinterpret_cast<gpu::Pair*>(ranks.buffers[owner] + ranks.tail) + number() * ranks.ranks + other;
  }
  GPU_INLINE uint64_t* counter() const { return reinterpret_cast<uint64_t*>(ranks.buffers[ranks.rank] + task.counters) + blockIdx.x; }
  // Returns where `owner` gets a chunk of `other`.
  GPU_INLINE char* slot(uint32_t owner, uint32_t other, uint64_t chunk) const {
    const uint32_t index = (other + ranks.ranks - owner - 1) % ranks.ranks;
    const uint64_t slots = (number() * (ranks.ranks - 1) + index) * kChunkSlots + (before + chunk) % kChunkSlots;
    return ranks.buffers[owner] + slots * ranks.region_bytes;
  }
  GPU_INLINE const char* sent(uint32_t peer, uint64_t chunk) const { return ranks.send + peer * ranks.send_pitch + place(chunk); }

  // Waits until `word` of all ranks' lines is so many at least. All threads come here, and learn alike whether they shall go on. This rank's own line is
  // among them: in place, what arrives is combined to where a chunk was that has to be written before.
  template <class Word>
  GPU_INLINE bool await(uint64_t many, Word word) const {
    bool stayed = true;
    const uint32_t peer = threadIdx.x;
    if (peer < ranks.ranks) {
      for (unsigned spins = 1; stayed && gpu::load_acquire(word(line(ranks.rank, peer))) < many; ++spins) {
        if (spins % kSpinsBetweenLooks == 0 && ranks.abort != nullptr) stayed = gpu::load_system(ranks.abort) == 0;
      }
    }
    return gpu::all_threads(stayed);
  }
  // Tells all ranks in `word` of this rank's lines, after all that the CTA has done.
  template <class Word>
  GPU_INLINE void tell(uint64_t many, Word word) const {
    gpu::sync_threads();
    if (threadIdx.x != 0) return;
    gpu::fence_system();
    for (uint32_t peer = 0; peer < ranks.ranks; ++peer) gpu::store_system(word(line(peer, ranks.rank)), many);
  }
};

struct Written {
  GPU_INLINE uint64_t* operator()(gpu::Pair* line) const { return &line->low; }
};
struct Taken {
  GPU_INLINE uint64_t* operator()(gpu::Pair* line) const { return &line->high; }
};

// These return false if they have given up.
GPU_INLINE bool write_chunks(const Channel& channel, uint64_t count) {
  const PacketsTask<kFewRanks>& ranks = channel.ranks;
  const Group all{threadIdx.x, blockDim.x};
  for (uint64_t chunk = 0; chunk < count; ++chunk) {
    const uint64_t number = channel.before + chunk;
    if (!channel.await(number < kChunkSlots ? 0 : number - kChunkSlots + 1, Taken{})) return false;
    for (uint32_t step = 1; step < ranks.ranks; ++step) {
      const uint32_t peer = (ranks.rank + step) % ranks.ranks;
      move_piece({channel.slot(peer, ranks.rank, chunk), channel.sent(peer, chunk), channel.length(chunk)}, all);
    }
    channel.tell(number + 1, Written{});
  }
  return true;
}
template <class Take>
GPU_INLINE bool take_chunks(const Channel& channel, uint64_t count, Take take) {
  for (uint64_t chunk = 0; chunk < count; ++chunk) {
    const uint64_t number = channel.before + chunk;
    if (!channel.await(number + 1, Written{})) return false;
    take(channel, chunk);
    channel.tell(number + 1, Taken{});
  }
  return true;
}

// `take(channel, chunk)` takes what has arrived.
template <class Take>
GPU_INLINE void run_chunks(const ChunksTask& task, Take take) {
  const Channel channel(task);
  const uint64_t count = channel.count();
  const bool stayed = channel.writes() ? write_chunks(channel, count) : take_chunks(channel, count, take);
  if (stayed && threadIdx.x == 0) *channel.counter() = channel.before + count;  // Nothing comes after a CTA that has given up.
}

GPU_INLINE void exchange_chunks(const ChunksTask& task) {
  run_chunks(task, [](const Channel& channel, uint64_t chunk) {
    const PacketsTask<kFewRanks>& ranks = channel.ranks;
    const Group all{threadIdx.x, blockDim.x};
    for (uint32_t step = 0; step < ranks.ranks; ++step) {
      const uint32_t peer = (ranks.rank + step) % ranks.ranks;
      char* const to = ranks.recv + peer * ranks.recv_pitch + channel.place(chunk);
      const char* const from = step == 0 ? channel.sent(peer, chunk) : channel.slot(ranks.rank, peer, chunk);
      if (to != from) move_piece({to, from, channel.length(chunk)}, all);
    }
  });
}

// What programs combine most has text of its own here, which saves calls.
GPU_INLINE Unit combined_soon(Combination combination, Unit unit, const Unit& other) {
  switch (combination) {
    case Combination::sum_uint32: UnitOf<Plain<uint32_t>, Sum>::combine(unit, other); return unit;
    case Combination::sum_float32: UnitOf<Plain<float>, Sum>::combine(unit, other); return unit;
    case Combination::sum_float16: UnitOf<Short<uint16_t, crossrail::Binary16>, Sum>::combine(unit, other); return unit;
    case Combination::sum_bfloat16: UnitOf<Short<uint16_t, crossrail::UpperHalf>, Sum>::combine(unit, other); return unit;
    case Combination::product_float32: UnitOf<Plain<float>, Product>::combine(unit, other); return unit;
    case Combination::product_bfloat16: UnitOf<Short<uint16_t, crossrail::UpperHalf>, Product>::combine(unit, other); return unit;
    default: return combined(combination, unit, other);
  }
}

// These are the rows of a chunk, in the order of the ranks, and how their units become one.
struct ChunkRows {
  const Channel& channel;
  uint64_t chunk;
  Unit by;

  GPU_INLINE ChunkRows(const Channel& of, uint64_t number) : channel(of), chunk(number), by{of.task.scaling.by[0], of.task.scaling.by[1]} {}
  GPU_INLINE const char* row(uint32_t rank) const {
    return rank == channel.ranks.rank ? channel.sent(rank, chunk) : channel.slot(channel.ranks.rank, rank, chunk);
  }
  GPU_INLINE char* result() const { return channel.ranks.recv + channel.place(chunk); }
  GPU_INLINE Unit added(uint32_t rank, const Unit& sum, const Unit& unit) const {
    const Combination before = channel.task.scaling.before;
    const Unit one = before == Combination::none ? unit : combined_soon(before, unit, by);
    return rank == 0 ? one : combined_soon(channel.task.elements.combination, sum, one);
  }
  GPU_INLINE Unit ended(const Unit& sum) const {
    const Combination after = channel.task.scaling.after;
    return after == Combination::none ? sum : combined(after, sum, by);
  }

  // Takes kEach units of 16 bytes at multiples of 16, of which it asks for all before it combines one.
  GPU_INLINE void combine_whole(uint64_t first) const {
    Unit sum[kEach] = {}, next[kEach];
    for (uint32_t rank = 0; rank < channel.ranks.ranks; ++rank) {
      const Unit* const from = reinterpret_cast<const Unit*>(row(rank)) + first;
#pragma unroll
      for (unsigned i = 0; i < kEach; ++i) next[i] = gpu::load(from + i * blockDim.x);
#pragma unroll
      for (unsigned i = 0; i < kEach; ++i) sum[i] = added(rank, sum[i], next[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < kEach; ++i) gpu::store(reinterpret_cast<Unit*>(result()) + first + i * blockDim.x, ended(sum[i]));
  }
  GPU_INLINE void combine_one(const UnitsOf& units, uint64_t number) const {
    Unit sum{};
    for (uint32_t rank = 0; rank < channel.ranks.ranks; ++rank) sum = added(rank, sum, units.read(row(rank), number));
    units.write(result(), number, ended(sum));
  }
};

GPU_INLINE void combine_chunk(const Channel& channel, uint64_t chunk) {
  Elements elements = channel.task.elements;
  elements.bytes = channel.length(chunk);
  const UnitsOf units{elements};
  const ChunkRows rows(channel, chunk);
  const uint64_t whole = units.whole(), count = units.count(), last = (kEach - 1) * uint64_t{blockDim.x};
  uint64_t first = threadIdx.x;
  for (; first + last < whole; first += kEach * blockDim.x) rows.combine_whole(first);
  for (; first < count; first += blockDim.x) rows.combine_one(units, first);
}

GPU_INLINE void combine_chunks(const ChunksTask& task) { run_chunks(task, combine_chunk); }

}  // namespace kernels
