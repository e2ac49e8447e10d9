// This file defines the Fortran names in the libraries for MPICH and the standard ABI. Their own Fortran bindings call the C names, so these
// only hand calls on. They exist for the wrong flavour: a Fortran program of Open MPI then hears that it runs without crossrail.

#include "mpi/library/next_call.h"
#include "mpi/words/parameter_lists.h"

using crossrail::mpi::Word64;

#define PASSED_ON(symbol, words)                                                         \
  extern "C" __attribute__((visibility("default"))) Word64 symbol(WORDS(words)) {        \
    static crossrail::mpi::NextCall next(#symbol);                                       \
    (void)crossrail::mpi::library();                                                     \
    return next(NAMES(words));                                                           \
  }
#define ENTRY_POINT(Name, name, NAME, words, ...) \
  PASSED_ON(mpi_##name##_, MORE_ONE(words))         \
  PASSED_ON(mpi_##name##__, MORE_ONE(words))        \
  PASSED_ON(MPI_##NAME, MORE_ONE(words))            \
  PASSED_ON(ompi_##name##_f, MORE_ONE(words))
#include "mpi/words/entry_points.def"
