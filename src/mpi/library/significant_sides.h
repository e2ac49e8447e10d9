// Which sides of a call mean something on this rank. Of a rooted call the root alone has the side with a block for every rank: elsewhere its
// arguments may be anything, and nobody looks at them.
#pragma once

#include "mpi/library/arguments.h"
#include "mpi/words/mpi_function.h"

namespace crossrail::mpi {

struct SignificantSides {
  bool sent = true, received = true;
};

// This rank in the communicator; -1: it is none.
int rank_in(MPI_Comm comm);
SignificantSides significant_sides(const MpiFunction& function, int root, int rank);
// `words`: of the C function.
SignificantSides significant_sides(const MpiFunction& function, const Word64* words);

}  // namespace crossrail::mpi
