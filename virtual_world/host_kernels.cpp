#include "virtual_world/host_kernels.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "collectives/combine.h"
#include "virtual_world/host_combined.h"
#include "virtual_world/host_queue.h"

namespace crossrail::virtual_world {

// A receive buffer is: round number | two halves of a slot a rank | barrier number | that of every rank. A slot is: flag | block.
static constexpr std::size_t kSlotHead = 64;

static std::size_t barrier_bytes(int ranks) { return kSlotHead * (1 + static_cast<std::size_t>(ranks)); }

// Slots are the same for all forms.
size_t packets_bytes(int ranks, size_t block_bytes) {
  return kSlotHead + 2 * static_cast<std::size_t>(ranks) * (kSlotHead + (block_bytes + 63) / 64 * 64) + barrier_bytes(ranks);
}

// Returns false if it has given up. A kernel looks at the word all the time. The thread that stands for it gives its core to those for whom
// it waits.
template <class Come>
static bool await_word(const std::byte* word, const void* abort, Come come) {
  while (!come(read_word(word))) {
    if (read_word(abort) != 0) return false;
    std::this_thread::yield();
  }
  return true;
}

// Block `peer` of what is sent goes to that rank, and `take` gets what came from a rank. It returns false if it has given up.
template <class Take>
static bool run_round(const crossrail_packets& asked, const std::vector<void*>& buffers, Take take) {
  const std::size_t slot = (asked.buffer_bytes - kSlotHead - barrier_bytes(asked.ranks)) / (2 * static_cast<std::size_t>(asked.ranks)) / 64 * 64;
  std::byte* const mine = touch(buffers[static_cast<std::size_t>(asked.rank)]);
  const std::uint64_t round = read_word(mine) + 1;
  const auto slot_of = [&](std::byte* buffer, int from) {
    return buffer + kSlotHead + ((round & 1) * static_cast<std::size_t>(asked.ranks) + static_cast<std::size_t>(from)) * slot;
  };
  const std::byte* const send = touch(asked.send);
  bool left = false;
  for (int step = 0; step < asked.ranks; ++step) {
    const int peer = (asked.rank + step) % asked.ranks;
    std::byte* const its = slot_of(touch(buffers[static_cast<std::size_t>(peer)]), asked.rank);
    std::memcpy(its + kSlotHead, send + static_cast<std::size_t>(peer) * asked.send_pitch, asked.block_bytes);
    write_word(its, round);
  }
  for (int peer = 0; peer < asked.ranks; ++peer) {
    std::byte* const from = slot_of(mine, peer);
    left = left || !await_word(from, asked.abort, [round](std::uint64_t word) { return word == round; });
    if (!left) take(peer, from + kSlotHead);
  }
  write_word(mine, round);
  return !left;
}

static Reduction reduction_of(const crossrail_reduction& asked) { return {static_cast<Operation>(asked.operation), static_cast<Element>(asked.element)}; }

bool combines(const crossrail_reduction& reduction) {
  const Reduction asked = reduction_of(reduction);
  return asked.operation == Operation::average ? has_average(asked.element) : combine_of(asked) != nullptr;
}

static bool exchange_packets(const crossrail_packets& asked, const std::vector<void*>& buffers) {
  std::byte* const recv = touch(asked.recv);
  return run_round(asked, buffers, [&](int peer, const std::byte* block) {
    std::memcpy(recv + static_cast<std::size_t>(peer) * asked.recv_pitch, block, asked.block_bytes);
  });
}

static bool combine_packets(const crossrail_packets& asked, const std::vector<void*>& buffers) {
  Combined combined(reduction_of(asked.reduction), asked.ranks, asked.block_bytes);
  const bool stayed = run_round(asked, buffers, [&](int, const std::byte* row) { combined.add(row); });
  if (stayed) std::memcpy(touch(asked.recv), combined.result().data(), asked.block_bytes);
  return stayed;
}

bool run_packets(const crossrail_packets& asked, const std::vector<void*>& buffers) {
  return asked.reduction.operation != 0 ? combine_packets(asked, buffers) : exchange_packets(asked, buffers);
}

void run_combination(const crossrail_combination& asked, const std::vector<const void*>& from, const std::vector<void*>& to) {
  if (asked.bytes == 0) return;
  Combined combined(reduction_of(asked.reduction), static_cast<int>(from.size()), asked.bytes);
  for (const void* const row : from) combined.add(touch(row));
  for (void* const row : to) std::memcpy(touch(row), combined.result().data(), asked.bytes);
}

// Returns the line of `owner` in which `from` writes: number | where its block goes | the most bytes it may have. If `from` is -1, it is
// the line with the owner's own number.
static std::byte* line_of(const crossrail_barrier& asked, const std::vector<void*>& buffers, int owner, int from) {
  const std::size_t begin = asked.buffer_bytes - barrier_bytes(asked.ranks);
  return touch(buffers[static_cast<std::size_t>(owner)]) + begin + kSlotHead * static_cast<std::size_t>(1 + from);
}

// `tell(peer, line)` writes what goes with the number. It returns false if it has given up.
template <class Tell>
static bool meet(const crossrail_barrier& asked, const std::vector<void*>& buffers, Tell tell) {
  std::byte* const mine = line_of(asked, buffers, asked.rank, -1);
  const std::uint64_t number = read_word(mine) + 1;
  for (int peer = 0; peer < asked.ranks; ++peer) {
    std::byte* const line = line_of(asked, buffers, peer, asked.rank);
    tell(peer, line);
    write_word(line, number);
  }
  bool left = false;
  for (int peer = 0; peer < asked.ranks; ++peer) {
    // A peer may be at the next barrier already.
    const std::byte* const line = line_of(asked, buffers, asked.rank, peer);
    left = left || !await_word(line, asked.abort, [number](std::uint64_t word) { return word >= number; });
  }
  write_word(mine, number);
  return !left;
}

void run_barrier(const crossrail_barrier& asked, const std::vector<void*>& buffers) {
  (void)meet(asked, buffers, [](int, std::byte*) {});
}

static CountedArrays arrays_of(const crossrail_counted_side& side, int ranks) {
  CountedArrays kept;
  if (!on_device(side.counts)) kept.counts.assign(side.counts, side.counts + ranks);
  if (!on_device(side.displacements)) kept.displacements.assign(side.displacements, side.displacements + ranks);
  return kept;
}

CountedWork counted_work(const crossrail_counted_exchange& asked) {
  const crossrail_barrier& barrier = asked.barrier;
  return {asked, {barrier.buffers, barrier.buffers + barrier.ranks}, {asked.to, asked.to + barrier.ranks}, arrays_of(asked.send, barrier.ranks),
          arrays_of(asked.recv, barrier.ranks)};
}

struct CountedBlock {
  std::int64_t at = 0, bytes = 0;
  bool right = true;
};

static CountedBlock block_of(const crossrail_counted_side& side, const CountedArrays& kept, int peer) {
  const auto entry = [peer](const std::vector<std::int32_t>& ours, const std::int32_t* array) -> std::int64_t {
    std::int32_t value = 0;
    if (ours.empty()) std::memcpy(&value, touch(array + peer), sizeof value);
    return ours.empty() ? value : ours[static_cast<std::size_t>(peer)];
  };
  const std::int64_t bytes = entry(kept.counts, side.counts) * side.element_bytes, at = entry(kept.displacements, side.displacements) * side.element_bytes;
  if (bytes == 0) return {};
  if (bytes < 0 || at < side.lowest || at > side.highest - bytes) return {0, 0, false};
  return {at, bytes, true};
}

void run_counted(const CountedWork& work) {
  const crossrail_barrier& met = work.asked.barrier;
  const auto wrong = [&](crossrail_counted_wrong kind, int peer) {
    write_word(work.asked.wrong, static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint64_t>(peer));
  };
  const bool all_here = meet(met, work.buffers, [&](int peer, std::byte* line) {
    const CountedBlock block = block_of(work.asked.recv, work.recv, peer);
    write_word(line + 8, static_cast<std::uint64_t>(block.at));
    write_word(line + 16, static_cast<std::uint64_t>(block.bytes));
    if (!block.right) wrong(CROSSRAIL_COUNTED_RECEIVE, peer);
  });
  for (int peer = 0; all_here && peer < met.ranks; ++peer) {
    const std::byte* const line = line_of(met, work.buffers, met.rank, peer);
    const CountedBlock block = block_of(work.asked.send, work.send, peer);
    const auto at = static_cast<std::int64_t>(read_word(line + 8)), room = static_cast<std::int64_t>(read_word(line + 16));
    if (!block.right) wrong(CROSSRAIL_COUNTED_SEND, peer);
    if (block.bytes > room) wrong(CROSSRAIL_COUNTED_CUT, peer);
    const std::int64_t bytes = block.bytes < room ? block.bytes : room;
    if (bytes == 0) continue;
    std::memcpy(touch(static_cast<std::byte*>(work.to[static_cast<std::size_t>(peer)]) + at), touch(static_cast<std::byte*>(work.asked.send.base) + block.at),
                static_cast<std::size_t>(bytes));
  }
}

// Returns where byte `at` of elements lies, and how many follow it there: one run after the other, as the definition has it.
static crossrail_block place_of(const crossrail_elements& side, const std::vector<crossrail_segment>& segments, std::uint64_t at) {
  // Elements need not begin where their bytes do. Only what is there is in an allocation.
  auto* const first = static_cast<std::byte*>(side.at);
  at += side.first;
  if (side.element_bytes == 0) return {first + at, nullptr, SIZE_MAX};
  std::byte* const element = first + static_cast<std::int64_t>(at / side.element_bytes) * side.extent;
  std::uint64_t rest = at % side.element_bytes;
  if (segments.empty()) {
    const std::int64_t run = static_cast<std::int64_t>(rest / side.runs.bytes);
    rest %= side.runs.bytes;
    return {element + side.runs.offset + run * side.runs.stride + static_cast<std::int64_t>(rest), nullptr, side.runs.bytes - rest};
  }
  std::size_t segment = 0;
  while (rest >= segments[segment].bytes) rest -= segments[segment++].bytes;
  return {element + segments[segment].offset + static_cast<std::int64_t>(rest), nullptr, segments[segment].bytes - rest};
}

void run_movement(const KeptMovement& kept) {
  const crossrail_movement& asked = kept.asked;
  for (std::uint64_t at = 0; at < asked.bytes;) {
    const crossrail_block from = place_of(asked.from, kept.from, at), to = place_of(asked.to, kept.to, at);
    const std::size_t bytes = std::min({from.bytes, to.bytes, static_cast<std::size_t>(asked.bytes - at)});
    std::memcpy(touch(to.to), touch(from.to), bytes);
    at += bytes;
  }
}

}  // namespace crossrail::virtual_world
