// MpiVersion is which MPI library the ranks run, as tuning tables and `crossrail explain` write it: "openmpi4.1.6".
#pragma once

#include <string>
#include <vector>

namespace crossrail {

struct MpiVersion {
  std::string library;       // It is "openmpi", for example, or empty if it is not known.
  std::vector<int> numbers;  // They are 4, 1, 6, for example.
};

// Reads "openmpi4.1.6" or "mpich"; an empty text is an unknown library. Returns false if `text` is something else.
bool parse_mpi_version(const std::string& text, MpiVersion& version);

// Returns the short form of what MPI_Get_library_version says: "Open MPI v4.1.6, package: ..." becomes "openmpi4.1.6". It is the first word
// in lower case (mpich, mvapich, intel, ...), except for Open MPI's two words. A short form stays as it is.
std::string mpi_name(const std::string& said);

}  // namespace crossrail
