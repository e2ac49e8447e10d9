// These functions read and write streams of packets, cache lines that hold data and the flag that announces them.
#pragma once

#include <algorithm>
#include <cstring>

#include "collectives/algorithm.h"

namespace crossrail {

inline void write_packets(Packet* packet, std::uint64_t flag, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kAhead = 8;
  for (; bytes >= Packet::kPayloadBytes; bytes -= Packet::kPayloadBytes, from += Packet::kPayloadBytes, ++packet) {
    __builtin_prefetch(packet + kAhead, 1);
    copy_block(packet->payload, from, Packet::kPayloadBytes);
    raise_flag(packet->flag, flag);
  }
  if (bytes == 0) return;
  copy_block(packet->payload, from, bytes);
  raise_flag(packet->flag, flag);
}

// A Stretch is a part of the stream of packets that `peer` writes, from `first` on.
struct Stretch {
  int peer;
  const Packet* first;
  std::size_t at;
  std::size_t bytes;
};

// It is always inline, because a call for every peer would take longer than its work.
[[gnu::always_inline]] inline Status read_packets(ControlBlock& control, std::uint64_t flag, Stretch from, std::byte* to) {
  const Packet* packet = from.first + from.at / Packet::kPayloadBytes;
  std::size_t skip = from.at % Packet::kPayloadBytes;
  do {
    CROSSRAIL_TRY(control.await(from.peer, [&] { return packet->flag.load(std::memory_order_acquire) == flag; }));
    const std::size_t part = std::min(Packet::kPayloadBytes - skip, from.bytes);
    copy_block(to, packet->payload + skip, part);
    to += part;
    from.bytes -= part;
    skip = 0;
    ++packet;
  } while (from.bytes != 0);
  return {};
}

// Does the same for blocks with gaps.
inline void write_packets(Packet* packet, std::uint64_t flag, const Part& from) {
  for (std::size_t at = 0; at < from.bytes; at += Packet::kPayloadBytes, ++packet) {
    from.take(packet->payload, at, std::min(Packet::kPayloadBytes, from.bytes - at));
    raise_flag(packet->flag, flag);
  }
}
inline Status read_packets(ControlBlock& control, std::uint64_t flag, Stretch from, const Part& to) {
  const Packet* packet = from.first + from.at / Packet::kPayloadBytes;
  std::size_t skip = from.at % Packet::kPayloadBytes;
  for (std::size_t done = 0; done < from.bytes; skip = 0, ++packet) {
    CROSSRAIL_TRY(control.await(from.peer, [&] { return packet->flag.load(std::memory_order_acquire) == flag; }));
    const std::size_t part = std::min(Packet::kPayloadBytes - skip, from.bytes - done);
    to.put(packet->payload + skip, done, part);
    done += part;
  }
  return {};
}

}  // namespace crossrail
