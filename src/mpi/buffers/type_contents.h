// What a datatype's constructor was called with.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// How a type was made; MPI_COMBINER_NAMED for what is none. False: the MPI library does not say.
bool ask_combiner(MPI_Datatype type, int& combiner);
int combiner_of(MPI_Datatype type);
// Whether that is no way to make one, but a type of MPI's own.
bool is_predefined(int combiner);

// How much may still be done to take a type apart.
struct Work {
  std::uint64_t left = 0;
  bool exceeded = false;
  bool spend(std::uint64_t words) {
    if (words > left) exceeded = true;
    if (!exceeded) left -= words;
    return !exceeded;
  }
};

// Of constructors with large counts in the order of those with ints: `integers` are what these have as ints.
struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;  // MPI_UNDEFINED: not known
  std::vector<std::int64_t> integers, addresses;
  std::vector<MPI_Datatype> types;

  TypeContents(MPI_Datatype type, Work& work);
  TypeContents(const TypeContents&) = delete;
  ~TypeContents();  // frees the types

 private:
  void sort(const std::vector<MPI_Count>& large, const std::vector<int>& ints);
};

}  // namespace crossrail::mpi
