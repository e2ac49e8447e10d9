/* A session inside MPI_Init and MPI_Finalize, both models at once. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 0));
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  MPI_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  MPI_OK(MPI_Comm_create_from_group(group, "crossrail.test.both", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  MPI_OK(MPI_Group_free(&group));
  for (int i = 0; i < 20; ++i) {
    MPI_OK(checked_alltoall(comm, 1 + i, i));
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, 2 + i, i));
  }
  MPI_OK(MPI_Comm_free(&comm));
  MPI_OK(MPI_Session_finalize(&session));
#endif
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 0));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
