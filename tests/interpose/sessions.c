/* MPI-4 sessions: no MPI_Init, no world; a session is opened and closed several times. */
#include "session.h"

#if HAVE_SESSIONS
static void one_session(int round) {
  MPI_Session session;
  MPI_Comm comm, dup;
  comm = open_session(&session, "crossrail.test");
  for (int i = 0; i < 20; ++i) MPI_OK(checked_alltoall(comm, 1 + i * 50, round + i));
  MPI_OK(MPI_Comm_dup(comm, &dup));
  MPI_OK(checked_alltoall(dup, 7, round));
  MPI_OK(MPI_Comm_free(&dup));
  close_session(&session, &comm);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 2;
  for (int round = 0; round < rounds; ++round) one_session(round);
  return verdict();
}
#else
int main(void) { return 77; }
#endif
