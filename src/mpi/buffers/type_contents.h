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

// Of constructors with large counts in the order of those with ints: `integers` are what these have as ints.
struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;  // MPI_UNDEFINED: not known
  std::vector<std::int64_t> integers, addresses;
  std::vector<MPI_Datatype> types;

  explicit TypeContents(MPI_Datatype type);
  TypeContents(const TypeContents&) = delete;
  ~TypeContents();  // frees the types

 private:
  void sort(const std::vector<MPI_Count>& large, const std::vector<int>& ints);
};

}  // namespace crossrail::mpi
