/* This opens a session and a communicator of all its processes, where the MPI library has sessions. */
#pragma once

#include "check.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAVE_SESSIONS 1

static inline MPI_Comm open_session(MPI_Session* session, const char* name) {
  MPI_Group group;
  MPI_Comm comm;
  MPI_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session));
  MPI_OK(MPI_Group_from_session_pset(*session, "mpi://WORLD", &group));
  MPI_OK(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  MPI_OK(MPI_Group_free(&group));
  return comm;
}

static inline void close_session(MPI_Session* session, MPI_Comm* comm) {
  MPI_OK(MPI_Comm_free(comm));
  MPI_OK(MPI_Session_finalize(session));
}
#else
#define HAVE_SESSIONS 0
#endif
