// Shape: what every rank of a communicator knows of a call without asking. It chooses the
// algorithm and is the key of the plan cache, so that a hit or a miss is the same on every rank.
// Never a pointer, a datatype's layout, an alignment or a v-count: those may differ. So may the kind of
// memory: ranks tell each other (transport/device_board.h) before it becomes part of the Shape.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace crossrail {

// MPI_Alltoallw is the v-collective here too: its types only decide how the blocks are packed.
enum class Collective : std::uint8_t { alltoall, alltoallv };
inline constexpr Collective kCollectives[] = {Collective::alltoall, Collective::alltoallv};
enum class Memory : std::uint8_t { host, device };

struct Shape {
  Collective collective = Collective::alltoall;
  Memory memory = Memory::host;
  bool in_place = false;
  std::uint64_t block_bytes = 0;  // from one rank to one other; alltoallv: 0, no rank knows them all

  bool operator==(const Shape&) const = default;
  std::uint64_t hash() const {
    const auto kind = static_cast<std::uint64_t>(collective) << 16 |
                      static_cast<std::uint64_t>(memory) << 8 | static_cast<std::uint64_t>(in_place);
    return hash_word(hash_word(kHashSeed, kind), block_bytes);
  }
};

inline constexpr Memory kMemories[] = {Memory::host, Memory::device};

const char* name_of(Collective collective);
const char* name_of(Memory memory);

}  // namespace crossrail
