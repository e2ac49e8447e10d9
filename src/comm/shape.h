// Shape: what every rank of a communicator knows of a call without asking. It chooses the
// algorithm and is the key of the plan cache, so that a hit or a miss is the same on every rank.
// Never a pointer, a datatype's layout, an alignment or a v-count: those may differ. So may the kind of
// memory: ranks tell each other (device_sharing/) before it becomes part of the Shape.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "comm/collective.h"
#include "comm/reduction.h"

namespace crossrail {

enum class Memory : std::uint8_t { host, device };
// What a call is ordered with: it returns when it is done, or is enqueued in a stream of the program's.
enum class Order : std::uint8_t { call, stream };

struct Shape {
  Collective collective = Collective::alltoall;
  Memory memory = Memory::host;
  bool in_place = false;
  std::uint64_t block_bytes = 0;  // from one rank to one other; of v-collectives 0, no rank knows them all; of collectives that reduce: of a rank's elements
  Order order = Order::call;      // of calls in a stream's order the memory is `device`
  Reduction reduction;            // of collectives that reduce
  int root = kNoRoot;             // of rooted collectives: a rank of the communicator

  static constexpr int kNoRoot = -1;
  bool operator==(const Shape&) const = default;
  // All of it but the size and the root: programs let one rank after the other be it.
  std::uint64_t kind() const {
    return static_cast<std::uint64_t>(reduction.operation) << 40 | static_cast<std::uint64_t>(reduction.element) << 32 |
           static_cast<std::uint64_t>(order) << 24 | static_cast<std::uint64_t>(collective) << 16 | static_cast<std::uint64_t>(memory) << 8 |
           static_cast<std::uint64_t>(in_place);
  }
  std::uint64_t hash() const {
    const std::uint64_t hash = mix_word(mix_word(kHashSeed, kind()), block_bytes);
    return root == kNoRoot ? hash : mix_word(hash, static_cast<std::uint64_t>(root));
  }
};

inline constexpr Memory kMemories[] = {Memory::host, Memory::device};

const char* name_of(Memory memory);
// The word of tuning tables for where and how calls of the Shape run: host, device or stream.
const char* ground_of(const Shape& shape);

}  // namespace crossrail
