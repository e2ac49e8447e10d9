// This kernel stays and waits for commands of the host, so that no launch stands before an exchange.
//
// Each command is read at once by one warp, over and over, since a read of host memory takes about a microsecond: its stamps tell when it
// has come.
//
// When the kernel leaves, it says so, then looks once more for a command. The host writes a command, then looks whether the kernel has
// left. So at least one of the two sees the other. A host that sees a kernel gone launches the next one, which starts behind it. A kernel
// that sees a command does it before it goes. Both may happen, so the number of the last finished command is kept on the device.
#pragma once

#include "move.h"
#include "stamped.h"

namespace kernels {

enum Coming : uint32_t { kNone, kCame, kLast };  // With kLast, this kernel has already said that it leaves.

struct Orders {
  Block blocks[kManyBlocks];
  Blocks list;
  uint64_t flag, value;
  Coming coming;
};

// Keeps pair `at` of the command where it belongs.
GPU_INLINE void keep(Orders& orders, unsigned at, uint64_t data) {
  if (at >= kPairs) {
    Block& block = orders.blocks[at / kPairs - 1];
    if (at % kPairs == 0) {
      block.to = reinterpret_cast<char*>(data);
    } else if (at % kPairs == 1) {
      block.from = reinterpret_cast<const char*>(data);
    } else {
      block.bytes = data & 0xffffffffu;
      block.first = data >> 32;
    }
  } else if (at == 0) {
    orders.flag = data;
  } else if (at == 1) {
    orders.value = data;
  } else {
    orders.list.count = static_cast<uint32_t>(data & 0xffff);
    orders.list.even = static_cast<uint32_t>(data >> 16 & 1);
    orders.list.pieces = data >> 17 & 0x7fff;
    orders.list.piece_bytes = data >> 32;
  }
}

// The whole warp takes one look. It returns whether command `number` is there, and if so, the command is in `orders`.
GPU_INLINE bool read_command(const Command& command, uint32_t number, Orders& orders) {
  const unsigned lane = threadIdx.x;
  const gpu::Pair* pairs = reinterpret_cast<const gpu::Pair*>(command.pairs);
  gpu::Pair pair = gpu::load_system(pairs + lane);
  if (!gpu::all_lanes(lane >= kPairs || stamped(pair, number))) return false;
  // The host has stamped the head last, so all the rest is there, even if this look has not brought it.
  if (lane < kPairs) keep(orders, lane, data_of(pair));
  const auto count = static_cast<uint32_t>(gpu::from_lane(data_of(pair), kPairs - 1) & 0xffff);
  if (count <= kManyBlocks) {
    for (unsigned at = lane; at < kPairs * (1 + count); at += kWarpLanes) {
      if (at != lane) pair = gpu::load_system(pairs + at);
      while (!stamped(pair, number)) pair = gpu::load_system(pairs + at);
      keep(orders, at, data_of(pair));
    }
  }
  if (lane == 0) gpu::fence_system();  // Nothing that was read for an earlier command is taken for new.
  gpu::sync_lanes();
  return true;
}

// The first warp waits for command `number`, or says that it leaves and looks once more.
GPU_INLINE Coming await_command(const PersistentTask& task, uint32_t number, uint64_t born, Orders& orders) {
  const Command& command = task.board->commands[number % kCommandSlots];
  const uint64_t began = gpu::now_ns();
  for (;;) {
    const uint64_t now = gpu::now_ns();
    const bool leaving = !gpu::all_lanes(now - began < task.idle_ns && now - born < task.life_ns);
    if (leaving) {
      if (threadIdx.x == 0) gpu::store_system(&task.board->left, task.launch);
      gpu::sync_lanes();
      gpu::fence_total();
    }
    if (read_command(command, number, orders)) return leaving ? kLast : kCame;
    if (leaving) return kNone;
  }
}

GPU_INLINE void obey(const Orders& orders, const PersistentTask& task, uint32_t number) {
  const Group group{threadIdx.x % kWarpLanes, kWarpLanes};
  for (uint64_t piece = threadIdx.x / kWarpLanes; piece < orders.list.pieces; piece += blockDim.x / kWarpLanes) {
    move_piece(piece_of(orders.list, orders.blocks, piece), group);
  }
  gpu::sync_threads();
  if (threadIdx.x != 0) return;
  gpu::fence_system();
  if (orders.flag != 0) gpu::store_system(reinterpret_cast<uint64_t*>(orders.flag), orders.value);
  *task.taken = number;
  gpu::store_system(&task.board->done, number);
}

GPU_INLINE void stay(const PersistentTask& task) {
  __shared__ Orders orders;
  const uint64_t born = gpu::now_ns();
  uint32_t number = *task.taken;
  for (bool staying = true; staying;) {
    number = number_after(number);
    if (threadIdx.x < kWarpLanes) {
      const Coming coming = await_command(task, number, born, orders);
      if (threadIdx.x == 0) orders.coming = coming;
    }
    gpu::sync_threads();
    if (orders.coming == kNone) return;
    staying = orders.coming == kCame && orders.list.count != kRetire;
    obey(orders, task, number);
    gpu::sync_threads();  // Nobody needs the orders any more.
  }
  if (threadIdx.x == 0) gpu::store_system(&task.board->left, task.launch);
}

}  // namespace kernels
