// A Datatype says how the data of a block lie in a buffer: in a row, or as elements of a derived datatype with gaps, which stay untouched.
//
//   contiguous  bytes in a row
//   vector      MPI_Type_vector: 8 doubles, every second one of 15
//   indexed     MPI_Type_indexed: 1, 3, 2 and 2 doubles, of 11
//   resized     MPI_Type_create_resized: a double in 16 bytes
//   subarray    MPI_Type_create_subarray: two columns of 4 x 4 doubles
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// With derived types, every block is a multiple of so many bytes.
constexpr std::size_t kBlockUnit = 64;

struct Datatype {
  struct Piece {
    std::size_t offset, bytes;
  };
  MPI_Datatype type = MPI_BYTE;
  std::size_t data_bytes = 1, extent = 1;  // They describe one element.
  std::vector<Piece> pieces;               // They are the pieces of an element with gaps; without pieces, the bytes are in a row.

  int count(std::size_t block) const { return static_cast<int>(block / data_bytes); }
  std::size_t reach(std::size_t block) const { return block / data_bytes * extent; }
  // Fill with, and check, the pattern of `word` (pattern.h) in so many bytes
  // of data. The gaps between them, which were `poison`, are checked as well.
  void fill(std::byte* to, std::size_t block, std::uint64_t word) const;
  bool is_right(const std::byte* from, std::size_t block, std::uint64_t word) const;
};

struct Datatypes {
  Datatype sent, received;
};

constexpr const char* kContiguous = "contiguous";

// Splits the name, or two names with a colon between them: the sender's and the receiver's.
std::pair<std::string, std::string> sides_of(const std::string& datatype);
// Returns one name if both sides have the same: vector:vector becomes vector.
std::string shortest(const std::string& datatype);
// Returns null if there is no such datatype. It must be called after MPI_Init.
const Datatype* find_datatype(const std::string& name);
// Returns the datatypes that words name, with the shortest names.
Datatypes datatypes_of(const std::string& words);

}  // namespace bench
