// Type contents are the arguments of a datatype's constructor.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Finds how a type was made; it is MPI_COMBINER_NAMED if `type` is no type. Returns false if MPI does not say.
bool ask_combiner(MPI_Datatype type, int& combiner);
int combiner_of(MPI_Datatype type);
// Returns whether this combiner denotes a type of MPI's own and not a constructor.
bool is_predefined(int combiner);

// Work says how much may still be done to take a type apart.
struct Work {
  std::uint64_t left = 0;
  bool exceeded = false;
  bool spend(std::uint64_t words) {
    if (words > left) exceeded = true;
    if (!exceeded) left -= words;
    return !exceeded;
  }
};

// The numbers of constructors with large counts are in the order of those with int counts; `integers` holds what the latter have as ints.
struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;  // MPI_UNDEFINED means that it is not known.
  std::vector<std::int64_t> integers, addresses;
  std::vector<MPI_Datatype> types;

  TypeContents(MPI_Datatype type, Work& work);
  TypeContents(const TypeContents&) = delete;
  ~TypeContents();  // It frees the types.

 private:
  void sort(const std::vector<MPI_Count>& large, const std::vector<int>& ints);
};

}  // namespace crossrail::mpi
