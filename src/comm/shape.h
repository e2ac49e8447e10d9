// Shape: what every rank of a communicator knows of a call without asking. It chooses the
// algorithm and is the key of the plan cache, so that a hit or a miss is the same on every rank.
// Never a pointer, a datatype's layout, an alignment or a v-count: those may differ. So may the kind of
// memory: ranks tell each other (device_sharing/) before it becomes part of the Shape.
#pragma once

#include <bit>
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
  // From one rank to one other; of collectives that reduce: of a rank's elements. Alltoallv and the v forms of rooted collectives: 0, no rank
  // but a root knows them all. Where blocks differ and all ranks know them: mean_class.
  std::uint64_t block_bytes = 0;
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

// The block bytes of calls whose blocks have this many bytes together: the mean, rounded up to a power of two, so that few plans serve calls
// of ever new lengths, and that limits of tuning rows, which are powers of two, choose as for equal blocks. 0 for nothing alone.
inline std::uint64_t mean_class(std::uint64_t bytes, int ranks) {
  const auto blocks = static_cast<std::uint64_t>(ranks);
  return bytes == 0 ? 0 : std::bit_ceil(bytes / blocks + (bytes % blocks != 0 ? 1 : 0));
}

inline constexpr Memory kMemories[] = {Memory::host, Memory::device};

const char* name_of(Memory memory);
// The word of tuning tables for where and how calls of the Shape run: host, device or stream.
const char* ground_of(const Shape& shape);

}  // namespace crossrail
