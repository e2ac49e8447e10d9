// Fortran names in the libraries for MPICH and the standard ABI, whose own Fortran bindings call the
// C names: handed on. They are here for the wrong flavour, so that a Fortran program of Open MPI
// hears that it runs without crossrail.

#include "mpi/next_call.h"
#include "mpi/words.h"

using crossrail::mpi::Word64;

#define PASSED_ON(symbol)                                                              \
  extern "C" __attribute__((visibility("default"))) Word64 symbol(WORDS_8) {           \
    static crossrail::mpi::NextCall next(#symbol);                                     \
    (void)crossrail::mpi::library();                                                   \
    return next(NAMES_8);                                                              \
  }
PASSED_ON(mpi_alltoall_)
PASSED_ON(mpi_alltoall)
PASSED_ON(mpi_alltoall__)
PASSED_ON(MPI_ALLTOALL)
PASSED_ON(ompi_alltoall_f)
