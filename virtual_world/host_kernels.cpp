#include "virtual_world/host_kernels.h"

#include <cstring>

namespace crossrail::virtual_world {

// A receive buffer: round number | two halves of a slot a rank | barrier number | that of every rank. A slot: flag | block.
static constexpr std::size_t kSlotHead = 64;

static std::size_t barrier_bytes(int ranks) { return kSlotHead * (1 + static_cast<std::size_t>(ranks)); }

size_t packets_bytes(int ranks, size_t block_bytes) {
  return kSlotHead + 2 * static_cast<std::size_t>(ranks) * (kSlotHead + (block_bytes + 63) / 64 * 64) + barrier_bytes(ranks);
}

void run_packets(const crossrail_packets& asked, const std::vector<void*>& buffers) {
  const std::size_t slot = (asked.buffer_bytes - kSlotHead - barrier_bytes(asked.ranks)) / (2 * static_cast<std::size_t>(asked.ranks)) / 64 * 64;
  std::byte* const mine = touch(buffers[static_cast<std::size_t>(asked.rank)]);
  const std::uint64_t round = read_word(mine) + 1;
  const auto slot_of = [&](std::byte* buffer, int from) {
    return buffer + kSlotHead + ((round & 1) * static_cast<std::size_t>(asked.ranks) + static_cast<std::size_t>(from)) * slot;
  };
  const std::byte* const send = touch(asked.send);
  std::byte* const recv = touch(asked.recv);
  bool left = false;
  for (int step = 0; step < asked.ranks; ++step) {
    const int peer = (asked.rank + step) % asked.ranks;
    std::byte* const its = slot_of(touch(buffers[static_cast<std::size_t>(peer)]), asked.rank);
    std::memcpy(its + kSlotHead, send + static_cast<std::size_t>(peer) * asked.block_bytes, asked.block_bytes);
    write_word(its, round);
  }
  for (int peer = 0; peer < asked.ranks; ++peer) {
    std::byte* const from = slot_of(mine, peer);
    while (!left && read_word(from) != round) left = read_word(asked.abort) != 0;
    if (!left) std::memcpy(recv + static_cast<std::size_t>(peer) * asked.block_bytes, from + kSlotHead, asked.block_bytes);
  }
  write_word(mine, round);
  if (asked.flag != nullptr) write_word(asked.flag, left ? ~asked.value : asked.value);
}

void run_barrier(const crossrail_barrier& asked, const std::vector<void*>& buffers) {
  const std::size_t begin = asked.buffer_bytes - barrier_bytes(asked.ranks);
  const auto line = [&](int owner, int from) {
    return touch(buffers[static_cast<std::size_t>(owner)]) + begin + kSlotHead * (1 + static_cast<std::size_t>(from));
  };
  std::byte* const mine = line(asked.rank, -1);
  const std::uint64_t number = read_word(mine) + 1;
  for (int peer = 0; peer < asked.ranks; ++peer) write_word(line(peer, asked.rank), number);
  bool left = false;
  for (int peer = 0; peer < asked.ranks; ++peer) {
    // A peer may be at the next barrier already.
    while (!left && read_word(line(asked.rank, peer)) < number) left = read_word(asked.abort) != 0;
  }
  write_word(mine, number);
}

// One byte after the other, as the definition has it.
void run_pack(const crossrail_packing& asked, const std::vector<crossrail_segment>& segments) {
  std::byte* const elements = touch(asked.elements);
  std::byte* const row = touch(asked.row);
  for (std::uint64_t at = asked.first; at < asked.first + asked.bytes; ++at) {
    const std::uint64_t element = at / asked.element_bytes;
    std::uint64_t rest = at % asked.element_bytes;
    std::size_t segment = 0;
    while (rest >= segments[segment].bytes) rest -= segments[segment++].bytes;
    std::byte* const there = elements + static_cast<std::int64_t>(element) * asked.extent + segments[segment].offset + static_cast<std::int64_t>(rest);
    if (asked.unpack != 0) *there = row[at - asked.first];
    else row[at - asked.first] = *there;
  }
}

}  // namespace crossrail::virtual_world
