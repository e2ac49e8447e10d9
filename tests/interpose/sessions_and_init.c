/* A session is inside MPI_Init and MPI_Finalize, so both models are used at once. */
#include "session.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 0));
#if HAVE_SESSIONS
  MPI_Session session;
  MPI_Comm comm = open_session(&session, "crossrail.test.both");
  for (int i = 0; i < 20; ++i) {
    MPI_OK(checked_alltoall(comm, 1 + i, i));
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, 2 + i, i));
  }
  close_session(&session, &comm);
#endif
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 0));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
