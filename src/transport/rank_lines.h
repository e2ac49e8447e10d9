// RankLines is what every rank of a node has in a ControlBlock: lines that only it writes, and packets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/simulated_time.h"

namespace crossrail {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
using Word = std::atomic<std::uint64_t>;

// Raises a flag that other ranks wait for.
inline void raise_flag(Word& word, std::uint64_t flag) {
  simulated_time::store();
  word.store(flag, std::memory_order_release);
}

// A rank publishes it when it begins a call. Its owner writes it, and peers that have
// waited too long read it to find out why. There are two, by parity of the call.
struct alignas(kCacheLineBytes) CallDescriptor {
  Word call;   // It is the number of the call on this slot and is written last.
  Word shape;  // It is the hash of the Shape.
  Word bytes;  // It is the size of a block, for the message about a mismatch.
  Word in_place;
  Word ended;  // It is the number of the call once this rank has received everything.
  Word native; // It is the number of the call once this rank is in MPI with it.
};

// Peers may read these blocks directly from their owner's memory.
struct alignas(kCacheLineBytes) ExportedRange {
  Word flag;     // It is the epoch's flag and is written last.
  Word address;  // It is the address of the send buffer in its owner's memory.
};

struct alignas(kCacheLineBytes) FlagLine {
  Word word[2];  // The index is the parity.
};

struct alignas(kCacheLineBytes) SeldomRead {  // Others seldom read it. What belongs to an epoch is indexed by parity.
  Word agreed[2];   // They hold the number of the agreement and a value.
  struct RowForm {  // It describes a round of a v-collective (collectives/node_rows.h).
    Word bytes[2];  // It is the size of every block, or says that they are unequal.
    Word flag[2];   // It is the epoch's flag, written last, when all blocks are there.
  } row;
  Word left;  // ControlBlock::leave_call explains it.
};

// A SequenceCounter is a flag that only grows: the last epoch in which its owner has come to some point.
struct alignas(kCacheLineBytes) SequenceCounter {
  Word flag;
};

struct RankLines {
  static constexpr int kCounters = 6;  // Algorithms use them and give them their names.
  CallDescriptor descriptor[2];
  ExportedRange exported[2];  // These serve single copy, by parity of the epoch.
  FlagLine staged;            // The bulk region of this epoch is filled.
  FlagLine finished;          // In single copy, this rank has read all it needs in this epoch.
  SeldomRead seldom;
  SequenceCounter entered;    // This rank has read all it needed in the epochs before.
  SequenceCounter barrier;    // This rank has come to `barrier`.
  SequenceCounter counter[kCounters];
};

// A packet has 56 bytes of payload and a flag that says to which epoch and Shape they belong (an LL protocol with lines of 64 bytes). Packet memory
// only ever contains packets, so user data can never be mistaken for a flag.
struct alignas(kCacheLineBytes) Packet {
  static constexpr std::size_t kPayloadBytes = kCacheLineBytes - sizeof(Word);
  std::byte payload[kPayloadBytes];
  Word flag;
};
static_assert(sizeof(Packet) == kCacheLineBytes);

}  // namespace crossrail
