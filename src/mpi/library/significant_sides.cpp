#include "mpi/library/significant_sides.h"

#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

int rank_in(MPI_Comm comm) {
  int rank = -1;
  return comm != handles().comm_null && pmpi().Comm_rank(comm, &rank) == MPI_SUCCESS ? rank : -1;
}

SignificantSides significant_sides(const MpiFunction& function, int root, int rank) {
  if (rank == root) return {};
  return {!root_sends(function.collective), !root_receives(function.collective)};
}

SignificantSides significant_sides(const MpiFunction& function, const Word64* words) {
  if (function.root_word < 0) return {};
  return significant_sides(function, static_cast<int>(words[function.root_word]), rank_in(handle_from<MPI_Comm>(words[function.words() - 1])));
}

}  // namespace crossrail::mpi
