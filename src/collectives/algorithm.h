// Algorithm: a row of a catalogue. Plain functions, one file an algorithm.
#pragma once

#include <span>
#include <string_view>

#include "collectives/fit.h"
#include "collectives/sequence_counters.h"
#include "comm/plan.h"

namespace crossrail {

struct Algorithm {
  const char* name;
  const char* summary;
  Collective collective;
  Memory memory;  // where the blocks lie
  std::span<const Parameter* const> parameters;  // that it reads
  // Which calls of such a communicator the algorithm can carry. Pure, and the same for every size: reads all of the Shape but `block_bytes`.
  Fit (*fit)(const Topology&, const Shape&);
  // Cold, called by all ranks. May fail on some of them: the ranks then agree on the next row.
  Status (*plan)(Plan&);
  // Hot. Allocates nothing, reads no settings; moves the bytes.
  Status (*run)(Plan&, const Buffers&);

  bool fits(const Topology& topology, const Shape& shape) const { return fit(topology, shape).takes(shape.block_bytes); }
};

// The algorithms of a collective on one kind of memory.
std::span<const Algorithm> catalogue(Collective collective, Memory memory = Memory::host);
// Null if the catalogue has no such row.
const Algorithm* find_algorithm(Collective collective, std::string_view name, Memory memory = Memory::host);

}  // namespace crossrail
