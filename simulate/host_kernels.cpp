#include "simulate/host_kernels.h"

#include <cstring>

namespace crossrail::simulate {

// An inbox: round number | two halves of a slot a rank; a slot: flag | block.
static constexpr std::size_t kSlotHead = 64;

size_t packets_bytes(int ranks, size_t block_bytes) {
  return kSlotHead + 2 * static_cast<std::size_t>(ranks) * (kSlotHead + (block_bytes + 63) / 64 * 64);
}

void run_packets(const crossrail_packets& asked, const std::vector<void*>& inboxes) {
  const std::size_t slot = (asked.inbox_bytes - kSlotHead) / (2 * static_cast<std::size_t>(asked.ranks)) / 64 * 64;
  std::byte* const mine = touch(inboxes[static_cast<std::size_t>(asked.rank)]);
  const std::uint64_t round = read_word(mine) + 1;
  const auto slot_of = [&](std::byte* inbox, int from) {
    return inbox + kSlotHead + ((round & 1) * static_cast<std::size_t>(asked.ranks) + static_cast<std::size_t>(from)) * slot;
  };
  const std::byte* const send = touch(asked.send);
  std::byte* const recv = touch(asked.recv);
  bool left = false;
  for (int step = 0; step < asked.ranks; ++step) {
    const int peer = (asked.rank + step) % asked.ranks;
    std::byte* const its = slot_of(touch(inboxes[static_cast<std::size_t>(peer)]), asked.rank);
    std::memcpy(its + kSlotHead, send + static_cast<std::size_t>(peer) * asked.block_bytes, asked.block_bytes);
    write_word(its, round);
  }
  for (int peer = 0; peer < asked.ranks; ++peer) {
    std::byte* const from = slot_of(mine, peer);
    while (!left && read_word(from) != round) left = read_word(asked.leave) != 0;
    if (!left) std::memcpy(recv + static_cast<std::size_t>(peer) * asked.block_bytes, from + kSlotHead, asked.block_bytes);
  }
  write_word(mine, round);
  if (asked.flag != nullptr) write_word(asked.flag, left ? ~asked.value : asked.value);
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

}  // namespace crossrail::simulate
