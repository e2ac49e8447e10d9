// MpiVersion: which MPI library the ranks run, as tuning tables and `crossrail explain` write it: "openmpi4.1.6".
#pragma once

#include <string>
#include <vector>

namespace crossrail {

struct MpiVersion {
  std::string library;       // "openmpi"; empty: unknown
  std::vector<int> numbers;  // 4, 1, 6
};

// "openmpi4.1.6", "mpich"; empty text is an unknown library. False if `text` is something else.
bool parse_mpi_version(const std::string& text, MpiVersion& version);

// The short form of what MPI_Get_library_version says: "Open MPI v4.1.6, package: ..." -> "openmpi4.1.6". Its first
// word in small letters (mpich, mvapich, intel, ...), but for Open MPI's two. A short form stays as it is.
std::string mpi_name(const std::string& said);

}  // namespace crossrail
