// These are calls with long blocks. Every CTA has a slice of each block and exchanges it with the CTAs of the same number on other devices, chunk by
// chunk, through slots in the receivers' memory (the receive buffers of this form). Flags are apart from the data, so that data move in the widest units
// and fill the links (NCCL's simple protocol).
//
// A rank writes chunk m of a slice into slot m % 4, and tells the receiver how many it has written, and how many of the receiver's own it has used. It
// writes a chunk when the receiver has used the one that was in the slot. It always writes one chunk more before it waits for the next one to arrive:
//
//   write 0 | write 1 | use 0 | write 2 | use 1 | ...
//
// Chunks are counted from call to call, alike on all ranks, because a CTA's slice is as long on all of them. CTAs of one device never wait for each
// other. All CTAs must be on the device at once.
#pragma once

#include "combine.h"

namespace kernels {

// It is one CTA's slice of all blocks.
struct Channel {
  const ChunksTask& task;
  const PacketsTask<kFewRanks>& ranks;
  uint64_t begin, bytes;
  uint64_t before;  // So many chunks have been in this channel in earlier calls.

  GPU_INLINE explicit Channel(const ChunksTask& asked) : task(asked), ranks(asked.packets), begin(blockIdx.x * asked.slice_bytes), bytes(0), before(*counter()) {
    if (begin < ranks.block_bytes) bytes = least(task.slice_bytes, ranks.block_bytes - begin);
  }
  GPU_INLINE uint64_t count() const { return (bytes + task.chunk_bytes - 1) / task.chunk_bytes; }
  GPU_INLINE uint64_t place(uint64_t chunk) const { return begin + chunk * task.chunk_bytes; }
  GPU_INLINE uint64_t length(uint64_t chunk) const { return least(task.chunk_bytes, bytes - chunk * task.chunk_bytes); }

  // This line in the memory of `owner` says how many chunks `other` has written for it, and how many of its chunks that one has used.
  GPU_INLINE gpu::Pair* line(uint32_t owner, uint32_t other) const {
    return reinterpret_cast<gpu::Pair*>(ranks.buffers[owner] + ranks.tail) + blockIdx.x * ranks.ranks + other;
  }
  GPU_INLINE uint64_t* counter() const { return reinterpret_cast<uint64_t*>(ranks.buffers[ranks.rank] + task.counters) + blockIdx.x; }
  // Returns where `owner` gets a chunk of `other`.
  GPU_INLINE char* slot(uint32_t owner, uint32_t other, uint64_t chunk) const {
    const uint32_t index = (other + ranks.ranks - owner - 1) % ranks.ranks;
    const uint64_t slots = (uint64_t{blockIdx.x} * (ranks.ranks - 1) + index) * kChunkSlots + (before + chunk) % kChunkSlots;
    return ranks.buffers[owner] + slots * ranks.region_bytes;
  }
  GPU_INLINE const char* sent(uint32_t peer, uint64_t chunk) const { return ranks.send + peer * ranks.send_pitch + place(chunk); }

  // Waits until `word` of all peers' lines is so many at least. All threads come here, and learn alike whether they shall go on.
  template <class Word>
  GPU_INLINE bool await(uint64_t many, Word word) const {
    bool stayed = true;
    const uint32_t peer = threadIdx.x;
    if (peer < ranks.ranks && peer != ranks.rank) {
      for (unsigned spins = 1; stayed && gpu::load_acquire(word(line(ranks.rank, peer))) < many; ++spins) {
        if (spins % kSpinsBetweenLooks == 0 && ranks.abort != nullptr) stayed = gpu::load_system(ranks.abort) == 0;
      }
    }
    return gpu::all_threads(stayed);
  }

  // Tells all peers what has been written for them and what has been used.
  GPU_INLINE void tell(uint64_t written, uint64_t used) const {
    gpu::sync_threads();
    if (threadIdx.x != 0) return;
    gpu::fence_system();
    for (uint32_t peer = 0; peer < ranks.ranks; ++peer) {
      if (peer != ranks.rank) gpu::store_system(line(peer, ranks.rank), gpu::Pair{before + written, before + used});
    }
  }

  GPU_INLINE bool write(uint64_t chunk, uint64_t used) const {
    const uint64_t number = before + chunk;
    if (!await(number < kChunkSlots ? 0 : number - kChunkSlots + 1, [](gpu::Pair* its) { return &its->high; })) return false;
    const Group all{threadIdx.x, blockDim.x};
    for (uint32_t step = 1; step < ranks.ranks; ++step) {
      const uint32_t peer = (ranks.rank + step) % ranks.ranks;
      move_piece({slot(peer, ranks.rank, chunk), sent(peer, chunk), length(chunk)}, all);
    }
    tell(chunk + 1, used);
    return true;
  }
  GPU_INLINE bool await_chunk(uint64_t chunk) const {
    return await(before + chunk + 1, [](gpu::Pair* its) { return &its->low; });
  }
};

// `use(channel, chunk)` takes what has arrived.
template <class Use>
GPU_INLINE void run_chunks(const ChunksTask& task, Use use) {
  const Channel channel(task);
  const uint64_t count = channel.count();
  if (count == 0) return;
  bool stayed = channel.write(0, 0);
  for (uint64_t chunk = 0; stayed && chunk < count; ++chunk) {
    if (chunk + 1 < count) stayed = channel.write(chunk + 1, chunk);
    stayed = stayed && channel.await_chunk(chunk);
    if (stayed) use(channel, chunk);
  }
  if (!stayed) return;  // Nothing comes after that.
  channel.tell(count, count);
  if (threadIdx.x == 0) *channel.counter() = channel.before + count;
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

// Combines the rows in the order of the ranks.
GPU_INLINE void combine_chunk(const Channel& channel, uint64_t chunk) {
  const PacketsTask<kFewRanks>& ranks = channel.ranks;
  const Scaling& scaling = channel.task.scaling;
  Elements elements = channel.task.elements;
  elements.bytes = channel.length(chunk);
  const UnitsOf units{elements};
  const Unit by{scaling.by[0], scaling.by[1]};
  for (uint64_t first = threadIdx.x; first < units.count(); first += kEach * blockDim.x) {
    const OwnUnits own(units, first, blockDim.x);
    Unit sum[kEach];
    for (uint32_t rank = 0; rank < ranks.ranks; ++rank) {
      const char* const row = rank == ranks.rank ? channel.sent(rank, chunk) : channel.slot(ranks.rank, rank, chunk);
      own.read(row, [&](unsigned i, const Unit& unit) {
        const Unit one = scaling.before == Combination::none ? unit : combined(scaling.before, unit, by);
        sum[i] = rank == 0 ? one : combined(elements.combination, sum[i], one);
      });
    }
    for (unsigned i = 0; i < kEach && scaling.after != Combination::none; ++i) sum[i] = combined(scaling.after, sum[i], by);
    own.write(ranks.recv + channel.place(chunk), [&](unsigned i) { return sum[i]; });
  }
}

GPU_INLINE void combine_chunks(const ChunksTask& task) { run_chunks(task, combine_chunk); }

}  // namespace kernels
