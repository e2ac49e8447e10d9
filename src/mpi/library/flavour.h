// This is the only file that includes mpi.h. It is compiled once for each MPI flavour (CROSSRAIL_FLAVOUR is "openmpi", "mpich" or "abi"); the
// include path picks the header.
//
// Nothing here links with an MPI library. Functions come from the library that the program itself has loaded (pmpi.h), and so do Open MPI's
// predefined handles, which are addresses of its data.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include CROSSRAIL_MPI_HEADER

#include "mpi/library/library.h"


#ifdef OPEN_MPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(::crossrail::mpi::library_data(#global)))
#endif
