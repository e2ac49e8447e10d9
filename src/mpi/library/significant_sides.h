// These functions say which sides of a call mean something on this rank. In a rooted call only the root has the side with a block for every
// rank. On other ranks the arguments of that side may be anything, and nobody looks at them.
#pragma once

#include "mpi/library/arguments.h"
#include "mpi/words/mpi_function.h"

namespace crossrail::mpi {

struct SignificantSides {
  bool sent = true, received = true;
};

// Returns this process's rank in the communicator, or -1 if it has none.
int rank_in(MPI_Comm comm);
SignificantSides significant_sides(const MpiFunction& function, int root, int rank);
// `words` are those of the C function.
SignificantSides significant_sides(const MpiFunction& function, const Word64* words);

}  // namespace crossrail::mpi
