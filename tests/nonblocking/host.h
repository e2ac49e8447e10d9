/* MPI libraries themselves do these things wrong with these calls. Programs leave them out, unless the environment says by NONBLOCKING_CARRIED that
 * crossrail carries the calls. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int carried(void) { return getenv("NONBLOCKING_CARRIED") != NULL; }

/* Returns 4 or 5, or 0 under any other MPI. */
static inline int openmpi_version(void) {
#ifdef OPEN_MPI
  return OMPI_MAJOR_VERSION;
#else
  return 0;
#endif
}

/* Returns 4 or 5, 0 where it is not known, and -1 under Open MPI. */
static inline int mpich_major(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length, major = 0;
  MPI_Get_library_version(version, &length);
  if (strstr(version, "Open MPI") != NULL) return -1;
  return sscanf(version, "MPICH Version: %d", &major) == 1 ? major : 0;
}

/* This is about MPI_ERRORS_RETURN. Intel MPI 2021.19's library of the standard ABI ends the program at any error all the same. */
static inline int returned_errors_work(void) {
#ifdef MPI_ABI
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length;
  MPI_Get_library_version(version, &length);
  return strstr(version, "Intel") == NULL;
#else
  return 1;
#endif
}

/* This is about MPI_IN_PLACE of ints. Under Open MPI, where ranks come at different times, Ialltoallv and Ialltoallw have wrong numbers, errors of
 * truncation, or hang, with 2 ranks under 4.1, with 4 under 5.0. */
static inline int in_place_works(int one_count) { return carried() || one_count || openmpi_version() == 0; }

/* This is the same for any types, laid out differently by each rank. MPICH 4.0 has wrong numbers or ends. */
static inline int typed_in_place_works(int one_count) {
  return carried() || (in_place_works(one_count) && (mpich_major() < 0 || mpich_major() >= 5));
}

/* Open MPI 4.1 ends in a segmentation fault when the communicator of a pending Ialltoallw is freed. */
static inline int freed_communicator_works(int many_types) {
  return carried() || openmpi_version() != 4 || !many_types;
}

/* Types of a persistent Alltoallw are freed before the request. Open MPI 4.1 and 5.0 end in a segmentation fault. */
static inline int freed_persistent_types_work(int many_types) {
  return carried() || openmpi_version() == 0 || !many_types;
}

/* The communicator of a persistent exchange is freed before the request. Open MPI ends in a segmentation fault, at the next start at the latest. */
static inline int freed_persistent_communicator_works(void) { return carried() || openmpi_version() == 0; }

/* Inactive persistent exchanges are among the requests to be completed. MPICH 4.0 takes them for active ones: it waits for ever or says that they
 * have ended. MPICH 5.0 waits for ever in Waitall, and fails in any Testall of persistent exchanges. */
static inline int inactive_works(int in_calls_for_all) {
  if (carried() || mpich_major() < 0) return 1;
  return !in_calls_for_all && mpich_major() >= 5;
}
