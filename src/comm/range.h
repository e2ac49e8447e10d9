// Ranges of a tuning table's columns, read once.
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
// "*", "4", "2-", "2-8". False if `text` is something else.
bool parse_range(const std::string& text, Range& range);

// MPI libraries of one name, and their versions. As many numbers are compared as the range has: 4 stands for 4.1.6 too.
struct MpiRange {
  std::string library;  // empty: any
  std::vector<int> low, high;
  bool contains(const MpiVersion& version) const;
};
// "*", "openmpi", "openmpi4.1", "mpich5-", "mpich4.1-5". False if `text` is something else.
bool parse_mpi_range(const std::string& text, MpiRange& range);

}  // namespace crossrail
