// A Shape is what every rank of a communicator knows of a call without asking. It chooses the algorithm and is the key of the plan cache, so a hit or
// a miss is the same on every rank. It never contains a pointer, a datatype's layout, an alignment or a v-count, because these may differ between
// ranks. The kind of memory may differ, too: ranks tell each other (device_sharing/) before it becomes part of the Shape.
#pragma once

#include <bit>
#include <cstdint>

#include "base/bytes.h"
#include "comm/collective.h"
#include "comm/reduction.h"

namespace crossrail {

enum class Memory : std::uint8_t { host, device };
// The order says what a call is ordered with. Either it returns when it is done, or it is enqueued in a stream of the program's.
enum class Order : std::uint8_t { call, stream };

struct Shape {
  Collective collective = Collective::alltoall;
  Memory memory = Memory::host;
  bool in_place = false;
  // It counts the bytes from one rank to another or, in collectives that reduce, those of a rank's elements. It is 0 for alltoallv and the v forms of
  // rooted collectives, because no rank except a root knows all lengths. If blocks differ and all ranks know them, it is their mean_class.
  std::uint64_t block_bytes = 0;
  Order order = Order::call;      // In a stream's order, the memory is `device`.
  Reduction reduction;            // Collectives that reduce have one.
  int root = kNoRoot;             // Rooted collectives have one; it is a rank of the communicator.

  static constexpr int kNoRoot = -1;
  bool operator==(const Shape&) const = default;
  // It hashes everything except the size and the root, because some programs make one rank after the other the root.
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

// Returns the block bytes of calls whose blocks have `bytes` bytes together: the mean, rounded up to a power of two. Thus few plans serve calls whose
// lengths keep changing, and limits of tuning rows, which are powers of two, choose as for equal blocks. It is 0 only if there are no bytes.
inline std::uint64_t mean_class(std::uint64_t bytes, int ranks) {
  const auto blocks = static_cast<std::uint64_t>(ranks);
  return bytes == 0 ? 0 : std::bit_ceil(bytes / blocks + (bytes % blocks != 0 ? 1 : 0));
}

inline constexpr Memory kMemories[] = {Memory::host, Memory::device};

const char* name_of(Memory memory);
// Returns the word of tuning tables for where and how calls of the Shape run: host, device or stream.
const char* ground_of(const Shape& shape);

}  // namespace crossrail
