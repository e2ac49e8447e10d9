/* These are the persistent forms under one name: MPI 4's, or those that Open MPI 4 has as extensions. */
#pragma once

#include <mpi.h>

#if MPI_VERSION >= 4
#define HAVE_PERSISTENT 1
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#if OMPI_MAJOR_VERSION >= 5
#define HAVE_PERSISTENT 1
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define HAVE_PERSISTENT 1
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Allgatherv_init MPIX_Allgatherv_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Gatherv_init MPIX_Gatherv_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Scatterv_init MPIX_Scatterv_init
#define MPI_Reduce_scatter_init MPIX_Reduce_scatter_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#endif
#endif
#ifndef HAVE_PERSISTENT
#define HAVE_PERSISTENT 0
#endif

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define LARGE_COUNTS 1
#else
#define LARGE_COUNTS 0
#endif
