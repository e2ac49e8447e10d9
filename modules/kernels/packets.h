// This is the all-to-all of small blocks. Packets of 8 bytes and the number of the round go straight to the receive buffers, and a rank
// that finds the round's number in a packet has its data. No other signal is needed.
//
// There are two halves, by parity of the round. A rank that sends round n+2 has received round n+1 from all, who had finished round n
// before they sent it. So nobody writes over what is still to be read.
// All CTAs must be on the device at once: each sends all it has to before it waits for anything.
#pragma once

#include "barrier.h"
#include "move.h"
#include "signal.h"
#include "stamped.h"
#include "units.h"

namespace kernels {

constexpr unsigned kSpinsBetweenLooks = 4096;  // A look at `abort` reads host memory.

// The number is never 0, and parities alternate also where it starts again.
GPU_INLINE uint32_t round_after(uint32_t round) { return round + 1 == 0 ? 2 : round + 1; }

// This is one group's share of one block: units first, first + step, ...
struct Share {
  uint32_t peer;
  uint64_t first, step, units;
};

template <unsigned kMost>
struct Round {
  const PacketsTask<kMost>& task;
  uint32_t number;
  unsigned spins = 0;

  // Returns the packets that `from` has sent to `to`.
  GPU_INLINE gpu::Pair* region(uint32_t to, uint32_t from) const {
    const uint64_t index = uint64_t{number & 1} * task.ranks + from;
    return reinterpret_cast<gpu::Pair*>(task.buffers[to] + index * task.region_bytes);
  }
  GPU_INLINE uint64_t rest(uint64_t unit) const { return task.block_bytes - unit * kPacketData; }

  GPU_INLINE void send(const Share& share) const {
    const char* from = task.send + share.peer * task.send_pitch;
    char* own = task.recv + share.peer * task.recv_pitch;
    gpu::Pair* packets = region(share.peer, task.rank);
    for (uint64_t base = share.first; base < share.units; base += kInFlight * share.step) {
      uint64_t data[kInFlight];
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) {
        const uint64_t unit = base + i * share.step;
        if (unit < share.units) data[i] = read_unit(from + unit * kPacketData, rest(unit), task.align);
      }
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) {
        const uint64_t unit = base + i * share.step;
        if (unit >= share.units) break;
        if (share.peer == task.rank) {
          write_unit(own + unit * kPacketData, data[i], rest(unit), task.align);
        } else {
          gpu::store_system(packets + unit, stamp(data[i], number));
        }
      }
    }
  }

  GPU_INLINE bool told_to_abort() {
    return ++spins % kSpinsBetweenLooks == 0 && task.abort != nullptr && gpu::load_system(task.abort) != 0;
  }

  // Returns false if it has given up.
  GPU_INLINE bool receive(const Share& share) {
    if (share.peer == task.rank) return true;
    char* to = task.recv + share.peer * task.recv_pitch;
    const gpu::Pair* packets = region(task.rank, share.peer);
    for (uint64_t base = share.first; base < share.units; base += kInFlight * share.step) {
      gpu::Pair got[kInFlight] = {};
      for (bool all = false; !all;) {
        all = true;
#pragma unroll
        for (unsigned i = 0; i < kInFlight; ++i) {
          const uint64_t unit = base + i * share.step;
          if (unit < share.units && !stamped(got[i], number)) got[i] = gpu::load_system(packets + unit);
        }
#pragma unroll
        for (unsigned i = 0; i < kInFlight; ++i) {
          all = all && (base + i * share.step >= share.units || stamped(got[i], number));
        }
        if (!all && told_to_abort()) return false;
      }
#pragma unroll
      for (unsigned i = 0; i < kInFlight; ++i) {
        const uint64_t unit = base + i * share.step;
        if (unit < share.units) write_unit(to + unit * kPacketData, data_of(got[i]), rest(unit), task.align);
      }
    }
    return true;
  }
};

template <unsigned kMost>
GPU_INLINE Round<kMost> next_round(const PacketsTask<kMost>& task) {
  return {task, round_after(tail_of(task)->round)};
}

// A packet that nobody has written for 2^32 rounds would be taken for a new one. So its owner erases it before, a few packets in some
// rounds. Those of the round's half have been read, and peers write there only when they have the next round from this rank.
constexpr uint32_t kRoundsBetweenErasing = 1u << 16;
constexpr uint32_t kErasingsOfAll = 1u << 15;

template <unsigned kMost>
GPU_INLINE void erase_some(const PacketsTask<kMost>& task, uint32_t round) {
  if (round % kRoundsBetweenErasing > 1) return;  // It erases in one even round and one odd.
  const uint64_t half_bytes = task.ranks * task.region_bytes;
  const uint64_t packets = half_bytes / kPacketBytes;
  const uint64_t some = packets / kErasingsOfAll + 1;
  const uint64_t first = round / kRoundsBetweenErasing % kErasingsOfAll * some;
  gpu::Pair* half = reinterpret_cast<gpu::Pair*>(task.buffers[task.rank] + (round & 1) * half_bytes);
  for (uint64_t at = first; at < first + some && at < packets; ++at) gpu::store_system(half + at, gpu::Pair{});
  gpu::fence_system();
}

// The last CTA to come here ends the round for its rank.
template <unsigned kMost>
GPU_INLINE void end_round(const PacketsTask<kMost>& task, uint32_t round, uint64_t before, bool stayed) {
  BufferTail* tail = tail_of(task);
  if (!stayed) tail->gave_up = 1;
  // If nobody is told, the kernel's end is all that anybody waits for.
  if (!(task.signal.flag != nullptr ? last_of_all(&tail->arrivals) : last_to_come(&tail->arrivals))) return;
  tail->round = round;
  erase_some(task, round);
  const uint64_t value = value_of(task.signal, before);
  tell(task.signal, tail->gave_up == 0 ? value : ~value);
  tail->gave_up = 0;
}

template <unsigned kMost>
GPU_INLINE void exchange_packets(const PacketsTask<kMost>& task) {
  const uint64_t before = last_value(task.signal);
  Round<kMost> round = next_round(task);
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned lane = thread % task.lanes;
  const uint32_t groups = gridDim.x * blockDim.x / task.lanes;
  const uint32_t parts = groups > task.ranks ? groups / task.ranks : 1;
  const uint64_t units = (task.block_bytes + kPacketData - 1) / kPacketData;
  // Job 0 is for the rank after this one, and so on. The last is this rank's own block.
  const auto share_of = [&](uint32_t job) {
    const uint32_t peer = (task.rank + 1 + job % task.ranks) % task.ranks;
    return Share{peer, uint64_t{job / task.ranks} * task.lanes + lane, uint64_t{parts} * task.lanes, units};
  };
  for (uint32_t job = thread / task.lanes; job < parts * task.ranks; job += groups) round.send(share_of(job));
  bool stayed = true;
  for (uint32_t job = thread / task.lanes; stayed && job < parts * task.ranks; job += groups) {
    stayed = round.receive(share_of(job));
  }
  end_round(task, round.number, before, stayed);
}

}  // namespace kernels
