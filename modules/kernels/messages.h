// These are messages between pairs of ranks. Each ordered pair stands for itself: nobody waits for a third rank.
//
// What one rank sends to another is a row of pieces that never ends: the pieces of one message follow those of the message before, and both ranks
// know how long the messages are. The row is dealt out to lanes, one piece to each in turn. A lane is a ring in the receiver's buffer. Piece n of a
// lane is stamped with the number n + 1, as lines are (lines.h), so a receiver that finds the number has the piece. It tells the sender in the
// sender's buffer how many pieces it has read, and the sender writes no further than the ring allows.
//
// A warp passes pieces of one pair in one direction, in their order, and does nothing else. All warps that wait are on the device at once. So a
// piece waits only for pieces before it in its own row, whatever the ranks have asked for in whatever kernels.
#pragma once

#include "lines.h"
#include "message_tasks.h"

namespace kernels {

GPU_INLINE MessageCounters* counters_of(const MessagesTask& task) {
  return reinterpret_cast<MessageCounters*>(task.buffers[task.rank] + task.counters);
}

// A rank's buffer has room for each other rank, but none for its owner.
GPU_INLINE uint64_t place_in_buffer(uint32_t owner, uint32_t other) { return other < owner ? other : other - 1; }

// This is where the pieces of one pair are.
struct MessageLanes {
  gpu::Pair* rings;
  char* credits;
  uint64_t before;  // It counts the pieces before those of this kernel.
  uint32_t bits;

  GPU_INLINE MessageLanes(const MessagesTask& task, uint32_t from, uint32_t to) : bits(task.lane_bits) {
    const uint64_t ring_bytes = kRingPieces * kPieceBytes << bits, credit_bytes = kCreditBytes << bits;
    rings = reinterpret_cast<gpu::Pair*>(task.buffers[to] + place_in_buffer(to, from) * ring_bytes);
    credits = task.buffers[from] + task.credits + place_in_buffer(from, to) * credit_bytes;
    const MessageCounters* const own = counters_of(task);
    before = gpu::load_system(from == task.rank ? &own->sent[to] : &own->received[from]);
  }
  // `piece` counts from the first of this kernel.
  GPU_INLINE uint64_t lane(uint64_t piece) const { return (before + piece) & ((uint64_t{1} << bits) - 1); }
  GPU_INLINE uint64_t number(uint64_t piece) const { return (before + piece) >> bits; }
  GPU_INLINE uint64_t* credit(uint64_t piece) const { return reinterpret_cast<uint64_t*>(credits + lane(piece) * kCreditBytes); }
  GPU_INLINE gpu::Pair* place(uint64_t piece) const {
    return rings + (lane(piece) * kRingPieces + number(piece) % kRingPieces) * (kPieceBytes / sizeof(gpu::Pair));
  }
};

// All lanes of a warp come here. It looks at `abort` now and then, and returns false if the warp is to give up.
struct MessageWait {
  const uint64_t* abort;
  unsigned spins = 0;
  GPU_INLINE bool goes_on() {
    const bool told = ++spins % kSpinsBetweenLooks == 0 && abort != nullptr && gpu::load_system(abort) != 0;
    return gpu::all_lanes(!told);
  }
};

GPU_INLINE Elements piece_of(uint64_t bytes, uint64_t piece, uint64_t addresses) {
  const uint64_t all = addresses | sizeof(Unit);
  return {least(bytes - piece * kPieceData, kPieceData), Combination::none, sizeof(Unit), static_cast<uint32_t>(all & (~all + 1)), 0};
}

// The list is read where it lies, as a pointer to either place would need a copy of the arguments.
GPU_INLINE Message message_of(const MessagesTask& task, uint32_t number) {
  return task.list != nullptr ? task.list[number] : task.messages[number];
}

// Calls `pass(message, part, piece)` for each piece of this warp, in their order: `part` counts the pieces of the message, `piece` those of the way.
// It stops when that returns false. All lanes of the warp come to the same pieces.
template <class Pass>
GPU_INLINE void each_piece(const MessagesTask& task, const MessageWay& way, uint32_t warp, Pass pass) {
  uint64_t before = 0;
  for (uint32_t number = way.first; number < way.first + way.count; ++number) {
    const uint64_t pieces = (message_of(task, number).bytes + kPieceData - 1) / kPieceData;
    for (uint64_t part = (warp - before) & (way.warps - 1); part < pieces; part += way.warps) {
      if (!pass(number, part, before + part)) return;
    }
    before += pieces;
  }
}

// This is the room that a sender knows of in the lane where it has last looked.
struct KnownRoom {
  uint64_t lane = ~uint64_t{0}, read = 0;

  // Returns once there is room for the piece, or false if it has given up. All lanes of the warp take what the first one has found.
  GPU_INLINE bool await(const MessageLanes& lanes, uint64_t piece, MessageWait& wait) {
    const uint64_t number = lanes.number(piece);
    if (lane == lanes.lane(piece) && number - read < kRingPieces) return true;
    lane = lanes.lane(piece);
    while (true) {
      read = gpu::from_lane(gpu::load_acquire(lanes.credit(piece)), 0);
      if (number - read < kRingPieces) return true;
      if (!wait.goes_on()) return false;
    }
  }
};

GPU_INLINE void send_messages(const MessagesTask& task, const MessageWay& way, uint32_t warp) {
  const MessageLanes lanes(task, task.rank, way.peer);
  MessageWait wait{task.abort};
  KnownRoom room;
  each_piece(task, way, warp, [&](uint32_t number, uint64_t part, uint64_t piece) {
    const Message message = message_of(task, number);
    const Elements elements = piece_of(message.bytes, part, reinterpret_cast<uint64_t>(message.at));
    const UnitsOf units{elements};
    const PairsOfLines pairs(units, 0, kGroupsOfAWarp);
    LaneUnits held;
    pairs.read(message.at + part * kPieceData, 0, held);
    if (!room.await(lanes, piece, wait)) return false;
    pairs.send(lanes.place(piece), 0, held, lanes.number(piece) + 1);  // Lanes meet first, so that all of them write after the first has seen the room.
    return true;
  });
}

// The sender hears of the pieces as soon as they are in registers. Lanes meet before, so that all have read theirs.
GPU_INLINE void tell_credit(const MessageLanes& lanes, uint64_t piece) {
  const uint64_t read = lanes.number(piece) + 1;
  if (read % kPiecesOfACredit != 0) return;
  gpu::sync_lanes();
  if (threadIdx.x % kWarpLanes == 0) gpu::store_release(lanes.credit(piece), read);
}

GPU_INLINE void receive_messages(const MessagesTask& task, const MessageWay& way, uint32_t warp) {
  const MessageLanes lanes(task, way.peer, task.rank);
  MessageWait wait{task.abort};
  each_piece(task, way, warp, [&](uint32_t number, uint64_t part, uint64_t piece) {
    const Message message = message_of(task, number);
    const Elements elements = piece_of(message.bytes, part, reinterpret_cast<uint64_t>(message.at));
    const UnitsOf units{elements};
    const PairsOfLines pairs(units, 0, kGroupsOfAWarp);
    LaneUnits got;
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) got.first[i] = got.second[i] = {};
    while (!pairs.look(lanes.place(piece), 0, got, lanes.number(piece) + 1)) {
      if (!wait.goes_on()) return false;
    }
    tell_credit(lanes, piece);
#pragma unroll
    for (unsigned i = 0; i < kPairsAtATime; ++i) {
      if (pairs.is_last) got.first[i].high = got.second[i].low;
    }
    pairs.write(message.at + part * kPieceData, 0, got);
    return true;
  });
}

GPU_INLINE void copy_messages(const MessagesTask& task, const MessageWay& way, uint32_t warp) {
  each_piece(task, way, warp, [&](uint32_t number, uint64_t part, uint64_t) {
    const Message from = message_of(task, number), to = message_of(task, number + way.count);
    const Elements elements = piece_of(from.bytes, part, reinterpret_cast<uint64_t>(from.at) | reinterpret_cast<uint64_t>(to.at));
    const UnitsOf units{elements};
    const PairsOfLines pairs(units, 0, kGroupsOfAWarp);
    LaneUnits held;
    pairs.read(from.at + part * kPieceData, 0, held);
    pairs.write(to.at + part * kPieceData, 0, held);
    return true;
  });
}

// The last CTA counts what this kernel has passed. The others have read the counts before they came here.
GPU_INLINE void count_messages(const MessagesTask& task) {
  MessageCounters* const counters = counters_of(task);
  if (!last_to_come(&counters->arrivals)) return;
  for (uint32_t i = 0; i < task.way_count; ++i) {
    const MessageWay& way = task.ways[i];
    if (way.kind == MessageWay::send) counters->sent[way.peer] += way.pieces;
    if (way.kind == MessageWay::receive) counters->received[way.peer] += way.pieces;
  }
}

// The warps of a way are in as many CTAs as possible, so that none has all of what goes out. Warps that no way needs have nothing to do.
GPU_INLINE void pass_messages(const MessagesTask& task) {
  const uint32_t warp = threadIdx.x / kWarpLanes * gridDim.x + blockIdx.x;
  for (uint32_t i = 0; i < task.way_count; ++i) {
    const MessageWay& way = task.ways[i];
    const uint32_t own = warp - way.first_warp;
    if (own >= way.warps) continue;
    if (way.kind == MessageWay::send) send_messages(task, way, own);
    if (way.kind == MessageWay::receive) receive_messages(task, way, own);
    if (way.kind == MessageWay::copy) copy_messages(task, way, own);
    break;
  }
  count_messages(task);
}

GPU_INLINE void keep_list(const ListTask& task) {
  for (uint64_t at = threadIdx.x; at < task.count; at += blockDim.x) task.to[at] = task.messages[at];
}

}  // namespace kernels
