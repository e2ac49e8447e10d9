/* The program frees communicators on which ranks have called with different sizes, and goes on. What has been sent in those calls and has never been
 * received must not end it (MPICH 5 ends a program that frees a communicator with messages on it). */
#include "check.h"

enum { kRounds = 12, kMost = 300 };

static int send[8 * (kMost + 1)], recv[8 * (kMost + 1)];

/* Which ranks hear of it depends on who came first. */
static void disagree(MPI_Comm comm, int count) {
  for (int call = 0; call < 4; ++call) MPI_OK(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm));
  const int mine = count + (rank_in(comm) == 0);
  (void)MPI_Alltoall(send, mine, MPI_INT, recv, mine, MPI_INT, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm comm;
    MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    disagree(comm, round % 2 == 0 ? 1 : kMost);
    MPI_OK(MPI_Comm_free(&comm));
    for (int call = 0; call < 70; ++call) MPI_OK(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD));
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
