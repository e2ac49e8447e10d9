// The lengths and places of these blocks are known only here. Each rank tells the senders, by the lines of a barrier, where their blocks go
// and how much fits there. Then each writes its own. Memory that nobody has counted is not touched.
#pragma once

#include "barrier.h"
#include "move.h"

namespace kernels {

struct CountedBlock {
  int64_t at;  // It counts bytes from its side's base.
  uint64_t bytes;
  bool right;
};

template <unsigned kMost>
GPU_INLINE CountedBlock counted_block(const CountedSide<kMost>& side, uint32_t peer) {
  const int64_t count = side.counts != nullptr ? side.counts[peer] : side.own_counts[peer];
  const int64_t displacement = side.displacements != nullptr ? side.displacements[peer] : side.own_displacements[peer];
  const int64_t at = displacement * side.element_bytes, bytes = count * side.element_bytes;
  const bool inside = bytes > 0 && at >= side.lowest && at <= side.highest - bytes;
  if (!inside) return {0, 0, bytes == 0};
  return {at, static_cast<uint64_t>(bytes), true};
}

GPU_INLINE void tell_wrong(uint64_t* word, uint64_t kind, uint32_t peer) { gpu::store_system(word, kind << 32 | peer); }

template <unsigned kMost>
struct TellRoom {
  static constexpr bool kTells = true;
  const CountedMeeting<kMost>& task;
  GPU_INLINE void operator()(uint32_t peer, BarrierLine* line) const {
    const CountedBlock block = counted_block(task.recv, peer);
    gpu::store_system(reinterpret_cast<uint64_t*>(&line->at), static_cast<uint64_t>(block.at));
    gpu::store_system(&line->room, block.bytes);
    if (!block.right) tell_wrong(task.wrong, kWrongReceive, peer);
  }
};

template <unsigned kMost>
GPU_INLINE void meet_counted(const CountedMeeting<kMost>& task) {
  meet(task.barrier, TellRoom<kMost>{task});
}

// Finds the rank's own block first, then those of rank + 1, rank + 2, ... `number` is the meeting's.
template <unsigned kMost>
GPU_INLINE void find_blocks(const CountedTask<kMost>& task, uint64_t number, Block* blocks) {
  const BarrierTask<kMost>& met = task.barrier;
  for (uint32_t step = threadIdx.x; step < met.ranks; step += blockDim.x) {
    const uint32_t peer = (met.rank + step) % met.ranks;
    const BarrierLine& line = lines_of(met, met.rank)[peer];
    const CountedBlock block = counted_block(task.send, peer);
    const bool here = line.barrier >= number;  // If not, the meeting was given up, and an earlier one wrote what stands there.
    const uint64_t room = here ? line.room : 0;
    blocks[step] = {task.to[peer] + line.at, task.send.base + block.at, block.bytes < room ? block.bytes : room, 0};
    if (blockIdx.x != 0 || !here) continue;
    if (!block.right) tell_wrong(task.wrong, kWrongSend, peer);
    if (block.bytes > room) tell_wrong(task.wrong, kWrongCut, peer);
  }
}

// The host does not know how many bytes there are. Warps share few bytes and CTAs share many, so that long blocks beside short ones keep
// all of them busy. Every CTA comes to the same result. Returns the lanes of a group.
GPU_INLINE uint32_t cut_blocks(Blocks& list, Block* blocks) {
  constexpr uint64_t kFewBytes = uint64_t{1} << 20, kPiecesAGroup = 4;
  uint64_t total = 0;
  for (uint32_t i = 0; i < list.count; ++i) total += blocks[i].bytes;
  const uint32_t lanes = total <= kFewBytes ? kWarpLanes : blockDim.x;
  const uint64_t pass = lanes * kUnitBytes, wanted = kPiecesAGroup * gridDim.x * (blockDim.x / lanes);
  list.piece_bytes = (total / wanted / pass + 1) * pass;
  list.pieces = 0;
  list.even = 0;
  for (uint32_t i = 0; i < list.count; ++i) {
    blocks[i].first = list.pieces;
    list.pieces += (blocks[i].bytes + list.piece_bytes - 1) / list.piece_bytes;
  }
  return lanes;
}

template <unsigned kMost>
GPU_INLINE void move_counted(const CountedTask<kMost>& task, uint64_t number) {
  __shared__ Block blocks[kMost];
  __shared__ Blocks list;
  __shared__ uint32_t lanes;
  find_blocks(task, number, blocks);
  gpu::sync_threads();
  if (threadIdx.x == 0) {
    list.count = task.barrier.ranks;
    lanes = cut_blocks(list, blocks);
  }
  gpu::sync_threads();
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const Group group{thread % lanes, lanes};
  const uint64_t groups = gridDim.x * blockDim.x / lanes;
  for (uint64_t piece = thread / lanes; piece < list.pieces; piece += groups) move_piece(piece_of(list, blocks, piece), group);
}

template <unsigned kMost>
GPU_INLINE void exchange_counted(const CountedTask<kMost>& task) {
  move_counted(task, tail_of(task.barrier)->barrier);
}

GPU_INLINE void exchange_counted_between(const CountedBetween& task) {
  Between barriers(task.exchange.barrier, true);
  barriers.come(TellRoom<kFewRanks>{task.meeting});
  move_counted(task.exchange, barriers.number);
  barriers.leave();
}

}  // namespace kernels
