// These are calls by lines (lines.h): an exchange, and one whose blocks are combined where they arrive.
#pragma once

#include "lines.h"

namespace kernels {

// A block that is longer than a region goes in parts, each in one half of the region. Two parts have the number of a round, and two are on their way:
// a rank sends one when it has all but the last two before it. So its peers have read what it writes over, which is four parts older. All ranks
// cut a block alike, and a warp has the same units of all parts, in both directions.
struct Parts {
  uint64_t all, each;  // They are the units of a block, and of a part.
  uint64_t count;

  GPU_INLINE Parts(uint64_t units, uint64_t of_part) : all(units), each(of_part), count((units + of_part - 1) / of_part) {}
  // Returns how many parts may have been sent when so many have come. An odd last one, alone in its round, comes after all others: when it
  // arrives, all parts of the round before have been read, where the next call writes.
  GPU_INLINE uint64_t may_be_sent(uint64_t received) const {
    const uint64_t most = least(count, received + 2);
    return most == count && count % 2 != 0 && received + 1 < count ? most - 1 : most;
  }
};

// This is the call of one rank, with the part that it is at.
template <unsigned kMost>
struct LineCall {
  const PacketsTask<kMost>& task;
  uint64_t before;   // It is the number of the last round of the call before.
  Parts parts;
  Round<kMost> round;

  GPU_INLINE LineCall(const PacketsTask<kMost>& asked, uint64_t units)
      : task(asked), before(tail_of(asked)->line_round), parts(units, asked.part_units), round{asked, before + 1} {}
  GPU_INLINE void go_to(uint64_t part) {
    round.number = before + 1 + part / 2;
    round.place = (part & 1) * task.part_bytes;
  }
  GPU_INLINE void end(uint64_t last_told, bool stayed) const {
    const uint64_t number = before + (parts.count + 1) / 2;
    end_rounds(task, last_told, stayed, [&](BufferTail* tail) { tail->line_round = number; });
  }
};

// `send(part)` sends what this thread's warp or CTA has of a part, and `receive(part)` receives it.
template <unsigned kMost, class Send, class Receive>
GPU_INLINE void go_through_parts(LineCall<kMost>& call, Send send, Receive receive) {
  uint64_t sent = 0;
  for (uint64_t received = 0; received < call.parts.count; ++received) {
    for (; sent < call.parts.may_be_sent(received); ++sent) {
      call.go_to(sent);
      send(sent);
    }
    call.go_to(received);
    receive(received);
  }
}

// A warp takes one share of a block's part after another. The part begins `offset` bytes behind the block's beginning.
struct LineShare {
  uint32_t peer;
  PairsOfLines pairs;
  uint64_t offset;
};

template <unsigned kMost>
GPU_INLINE void send_lines(const Round<kMost>& round, const LineShare& share) {
  const PacketsTask<kMost>& task = round.task;
  LaneUnits held;
  for (uint64_t base = share.pairs.begin; base < share.pairs.count; base += share.pairs.warp_step()) {
    share.pairs.read(task.send + share.peer * task.send_pitch + share.offset, base, held);
    if (share.peer == task.rank) {
      share.pairs.write(task.recv + share.peer * task.recv_pitch + share.offset, base, held);
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
    share.pairs.write(task.recv + share.peer * task.recv_pitch + share.offset, base, held);
  }
  return true;
}

// This warp's shares of the parts of blocks.
struct LineShares {
  uint32_t rank, ranks;
  uint32_t warp, warps;
  uint32_t pieces;  // A part has so many shares.

  GPU_INLINE LineShares(uint32_t own, uint32_t all) : rank(own), ranks(all) {
    warp = (blockIdx.x * blockDim.x + threadIdx.x) / kWarpLanes;
    warps = gridDim.x * blockDim.x / kWarpLanes;
    pieces = warps > ranks ? warps / ranks : 1;
  }
  // Calls `take` with one share after another, as long as it returns true.
  template <class Take>
  GPU_INLINE bool each(const UnitsOf& units, uint64_t offset, Take take) const {
    for (uint32_t job = warp; job < pieces * ranks; job += warps) {
      const uint32_t peer = (rank + 1 + job % ranks) % ranks;
      const PairsOfLines pairs(units, uint64_t{job / ranks} * kGroupsOfAWarp, uint64_t{pieces} * kGroupsOfAWarp);
      if (!take(LineShare{peer, pairs, offset})) return false;
    }
    return true;
  }
};

// These are the elements of a part.
GPU_INLINE Elements part_of(const Elements& all, const Parts& parts, uint64_t part) {
  Elements some = all;
  some.bytes = least(parts.each * all.unit_bytes, all.bytes - part * parts.each * all.unit_bytes);
  return some;
}

template <unsigned kMost>
GPU_INLINE void exchange_lines(const PacketsTask<kMost>& task) {
  const uint64_t last_told = last_value(task.signal);
  const Elements bytes{task.block_bytes, Combination::none, sizeof(Unit), task.align, 0};
  LineCall<kMost> call(task, UnitsOf{bytes}.count());
  const LineShares shares(task.rank, task.ranks);
  bool stayed = true;
  const auto send = [&](uint64_t part) {
    const Elements elements = part_of(bytes, call.parts, part);
    (void)shares.each(UnitsOf{elements}, part * call.parts.each * sizeof(Unit), [&](const LineShare& share) {
      send_lines(call.round, share);
      return true;
    });
  };
  const auto receive = [&](uint64_t part) {
    const Elements elements = part_of(bytes, call.parts, part);
    const UnitsOf units{elements};
    stayed = stayed && shares.each(units, part * call.parts.each * sizeof(Unit), [&](const LineShare& share) { return receive_lines(call.round, share); });
  };
  go_through_parts(call, send, receive);
  call.end(last_told, stayed);
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

// Returns false if it has given up. The part begins `offset` bytes behind the block's beginning.
template <unsigned kMost>
GPU_INLINE bool receive_tile(Round<kMost>& round, const PairsOfLines& pairs, const LineTile& tile, uint64_t first, uint64_t offset) {
  const PacketsTask<kMost>& task = round.task;
  const uint32_t peer = (task.rank + 1 + tile.group) % task.ranks;
  if (tile.group >= task.ranks || pairs.begin >= pairs.count) return true;
  LaneUnits got;
  if (peer == task.rank) {
    pairs.read(task.send + peer * task.send_pitch + offset, pairs.begin, got);
  } else if (!pairs.receive(round, round.region(task.rank, peer), pairs.begin, got)) {
    return false;
  }
  tile.keep(pairs, first, peer, got);
  return true;
}

// These are the tiles of a CTA in a part of the blocks.
struct LineTiles {
  const CombinePacketsTask& whole;
  LineCall<kFewRanks>& call;
  const LineTile& tile;
  Elements elements;
  uint64_t offset, count, step;

  GPU_INLINE LineTiles(const CombinePacketsTask& task, LineCall<kFewRanks>& at, const LineTile& shared, uint64_t part)
      : whole(task), call(at), tile(shared), elements(part_of(task.elements, at.parts, part)), offset(part * at.parts.each * task.elements.unit_bytes) {
    count = UnitsOf{elements}.count();
    step = uint64_t{gridDim.x} * tile.width;
  }
  GPU_INLINE uint64_t begin() const { return uint64_t{blockIdx.x} * tile.width; }
  GPU_INLINE PairsOfLines pairs(const UnitsOf& units, uint64_t first) const { return {units, tile.begin(first), tile.step()}; }

  GPU_INLINE void send() const {
    const PacketsTask<kFewRanks>& task = whole.packets;
    const uint32_t peer = (task.rank + 1 + tile.group) % task.ranks;
    if (tile.group >= task.ranks || peer == task.rank) return;
    const UnitsOf units{elements};
    for (uint64_t first = begin(); first < count; first += step) {
      const PairsOfLines own = pairs(units, first);
      LaneUnits held;
      own.read(task.send + peer * task.send_pitch + offset, own.begin, held);
      own.send(call.round.region(peer, task.rank), own.begin, held, call.round.number);
    }
  }

  // Returns false if it has given up. All threads of the CTA come here.
  GPU_INLINE bool receive(bool stayed) const {
    const PacketsTask<kFewRanks>& task = whole.packets;
    const UnitsOf units{elements};
    for (uint64_t first = begin(); first < count; first += step) {
      stayed = stayed && receive_tile(call.round, pairs(units, first), tile, first, offset);
      gpu::sync_threads();
      combine_arrived(whole, tile.units, tile.width);
      for (uint64_t at = threadIdx.x; at < tile.width && first + at < count; at += blockDim.x) units.write(task.recv + offset, first + at, tile.units[at]);
      gpu::sync_threads();
    }
    return stayed;
  }
};

// Does what combine_packets does, by lines.
GPU_INLINE void combine_lines(const CombinePacketsTask& whole) {
  __shared__ Unit shared[kCombineThreads / kLineLanes * kPairsAtATime * kUnitsOfAPair];
  const uint64_t last_told = last_value(whole.packets.signal);
  const LineTile tile(shared, whole.packets.ranks);
  LineCall<kFewRanks> call(whole.packets, UnitsOf{whole.elements}.count());
  bool stayed = true;
  const auto send = [&](uint64_t part) { LineTiles(whole, call, tile, part).send(); };
  const auto receive = [&](uint64_t part) { stayed = LineTiles(whole, call, tile, part).receive(stayed); };
  go_through_parts(call, send, receive);
  call.end(last_told, stayed);
}

}  // namespace kernels
