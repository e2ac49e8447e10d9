/* These are the functions that make persistent collectives, by the standard's names, where there are any. Open MPI 4 has them by other names. */
#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define PERSISTENT_COLLECTIVES 1
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#define PERSISTENT_COLLECTIVES 1
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Reduce_scatter_init MPIX_Reduce_scatter_init
#else
#define PERSISTENT_COLLECTIVES 0
#endif
