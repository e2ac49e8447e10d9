// These ranges stand in a tuning table's columns and are read once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/mpi_version.h"

namespace crossrail {

struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = ~std::uint64_t{0};
  bool contains(std::uint64_t value) const { return value >= low && value <= high; }
};
// Reads "*", "4", "2-" or "2-8". Returns false if `text` is something else.
bool parse_range(const std::string& text, Range& range);

// A range of versions of an MPI library. Only as many numbers are compared as the range has, so 4 includes 4.1.6.
struct MpiRange {
  std::string library;  // It is empty for any library.
  std::vector<int> low, high;
  bool contains(const MpiVersion& version) const;
};
// Reads "*", "openmpi", "openmpi4.1", "mpich5-" or "mpich4.1-5". Returns false if `text` is something else.
bool parse_mpi_range(const std::string& text, MpiRange& range);

}  // namespace crossrail
