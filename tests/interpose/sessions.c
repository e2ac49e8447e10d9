/* MPI-4 sessions: no MPI_Init, no world; a session is opened and closed several times. */
#include "check.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
static void one_session(int round) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm, dup;
  MPI_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  MPI_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  MPI_OK(MPI_Comm_create_from_group(group, "crossrail.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  MPI_OK(MPI_Group_free(&group));
  for (int i = 0; i < 20; ++i) MPI_OK(checked_alltoall(comm, 1 + i * 50, round + i));
  MPI_OK(MPI_Comm_dup(comm, &dup));
  MPI_OK(checked_alltoall(dup, 7, round));
  MPI_OK(MPI_Comm_free(&dup));
  MPI_OK(MPI_Comm_free(&comm));
  MPI_OK(MPI_Session_finalize(&session));
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 2;
  for (int round = 0; round < rounds; ++round) one_session(round);
  return verdict();
}
#else
int main(void) { return 77; }
#endif
