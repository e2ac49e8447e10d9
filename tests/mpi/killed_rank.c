/* Rank 1 is killed. The others, waiting for it in MPI_Alltoall, must say so and end.
 *
 *   killed_rank before | inside      before its call, or while it is inside waiting for rank 0 */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"

static void kill_myself(int signal_number) {
  (void)signal_number;
  kill(getpid(), SIGKILL);
}

static void kill_myself_soon(void) {
  const struct itimerval soon = {{0, 0}, {0, 300000}};
  signal(SIGALRM, kill_myself);
  setitimer(ITIMER_REAL, &soon, NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int inside = argc > 1 && strcmp(argv[1], "inside") == 0;
  const int rank = rank_in(MPI_COMM_WORLD);
  for (int i = 0; i < 10; ++i) MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, i));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 1) {
    if (inside) {
      kill_myself_soon();
    } else {
      kill_myself(0);
    }
  }
  if (rank == 0 && inside) usleep(700000); /* Rank 1 waits for us, and is killed. */
  /* Blocks are large while inside, too much to be staged before rank 0 comes. */
  const int count = inside ? 1 << 19 : 3;
  const size_t bytes = sizeof(int) * (size_t)count * (size_t)size_of_comm(MPI_COMM_WORLD);
  int* send = calloc(bytes, 1);
  int* recv = calloc(bytes, 1);
  const int code = MPI_Alltoall(send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD);
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_OK(MPI_Error_string(code, text, &length));
  printf("rank %d: survivor: code %d: %s\n", rank, code, text);
  fflush(stdout);
  _exit(code == MPI_SUCCESS ? 3 : 4); /* Without rank 1, MPI_Finalize need not return. */
}
