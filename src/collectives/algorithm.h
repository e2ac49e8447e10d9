// An Algorithm is a row of a catalogue. It consists of plain functions, and every algorithm has its own file.
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
  Memory memory;  // The blocks lie there.
  std::span<const Parameter* const> parameters;  // It reads these.
  // Says which calls of such a communicator the algorithm can handle. It is pure and
  // gives the same answer for every size: it reads all of the Shape except `block_bytes`.
  Fit (*fit)(const Topology&, const Shape&);
  // All ranks call it, rarely. It may fail on some of them; then all ranks agree on the next row.
  Status (*plan)(Plan&);
  // Moves the bytes. It is called in every call, allocates nothing and reads no settings.
  Status (*run)(Plan&, const Buffers&);

  bool fits(const Topology& topology, const Shape& shape) const { return fit(topology, shape).takes(shape.block_bytes); }
};

// Returns the algorithms of a collective on one kind of memory.
std::span<const Algorithm> catalogue(Collective collective, Memory memory = Memory::host);
// Returns null if the catalogue has no such row.
const Algorithm* find_algorithm(Collective collective, std::string_view name, Memory memory = Memory::host);

}  // namespace crossrail
