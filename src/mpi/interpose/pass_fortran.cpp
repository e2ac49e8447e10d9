// Fortran names in the libraries for MPICH and the standard ABI, whose own Fortran bindings call the
// C names: handed on. They are here for the wrong flavour, so that a Fortran program of Open MPI
// hears that it runs without crossrail.

#include "mpi/interpose/next_call.h"
#include "mpi/interpose/words.h"

using crossrail::mpi::Word64;

#define PASSED_ON(symbol, words)                                                         \
  extern "C" __attribute__((visibility("default"))) Word64 symbol(WORDS_##words) {       \
    static crossrail::mpi::NextCall next(#symbol);                                       \
    (void)crossrail::mpi::library();                                                     \
    return next(NAMES_##words);                                                          \
  }
#define PASSED_FORTRAN(lower, upper, words) \
  PASSED_ON(mpi_##lower##_, words)          \
  PASSED_ON(mpi_##lower, words)             \
  PASSED_ON(mpi_##lower##__, words)         \
  PASSED_ON(MPI_##upper, words)             \
  PASSED_ON(ompi_##lower##_f, words)
PASSED_FORTRAN(alltoall, ALLTOALL, 8)
PASSED_FORTRAN(alltoallv, ALLTOALLV, 10)
PASSED_FORTRAN(alltoallw, ALLTOALLW, 10)
PASSED_FORTRAN(allreduce, ALLREDUCE, 7)
PASSED_FORTRAN(allgather, ALLGATHER, 8)
PASSED_FORTRAN(reduce_scatter_block, REDUCE_SCATTER_BLOCK, 7)
