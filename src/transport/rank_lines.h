// What every rank of a node has in a ControlBlock: lines that it alone writes, and packets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace crossrail {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
using Word = std::atomic<std::uint64_t>;

// What a rank publishes when it begins a call: written by its owner, read by peers that have waited too
// long and ask why. Two, by parity of the call.
struct alignas(kCacheLineBytes) CallDescriptor {
  Word call;   // number of the call on this slot; written last
  Word shape;  // hash of the Shape
  Word bytes;  // bytes of a block, for the message about a mismatch
  Word in_place;
  Word ended;  // number of the call, once this rank has all that it was to receive
  Word native; // number of the call, once this rank is in the MPI library with it
};

// Blocks that peers may read straight from their owner's memory.
struct alignas(kCacheLineBytes) ExportedRange {
  Word flag;     // of the epoch; written last
  Word address;  // of the send buffer, in its owner's memory
};

struct alignas(kCacheLineBytes) FlagLine {
  Word word[2];  // by parity
};

struct alignas(kCacheLineBytes) SeldomRead {  // by others; by parity what is of an epoch
  Word agreed[2];   // number of the agreement, and a value
  struct RowForm {  // in a round of a v-collective (collectives/node_rows.h)
    Word bytes[2];  // of every block; or that they are unequal
    Word flag[2];   // of the epoch; written last, when all blocks are there
  } row;
  Word left;  // ControlBlock::leave_call
};

// A flag that only goes on: of the last epoch in which its owner came to some point.
struct alignas(kCacheLineBytes) SequenceCounter {
  Word flag;
};

struct RankLines {
  static constexpr int kCounters = 6;  // for algorithms, which give them their names
  CallDescriptor descriptor[2];
  ExportedRange exported[2];  // single copy: by parity of the epoch
  FlagLine staged;            // bulk region of this epoch is filled
  FlagLine finished;          // single copy: this rank has read all it needs in this epoch
  SeldomRead seldom;
  SequenceCounter entered;    // this rank has read all it needed in the epochs before
  SequenceCounter barrier;    // has come to `barrier`
  SequenceCounter counter[kCounters];
};

// 56 bytes of payload and a flag that says for which epoch and shape they are (an LL protocol with lines of
// 64 bytes). Packet memory only ever holds packets, so that user data can never be taken for a flag.
struct alignas(kCacheLineBytes) Packet {
  static constexpr std::size_t kPayloadBytes = kCacheLineBytes - sizeof(Word);
  std::byte payload[kPayloadBytes];
  Word flag;
};
static_assert(sizeof(Packet) == kCacheLineBytes);

}  // namespace crossrail
