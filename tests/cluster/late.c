/* One rank after the other is late by more than others wait before they ask. A rank may get a connection to the one that it waits for, not to all (as
 * it would if it told everybody).
 *
 *   late */
#include <dirent.h>
#include <unistd.h>

#include "check.h"

/* Returns the sockets of this process. */
static int sockets(void) {
  DIR* const folder = opendir("/proc/self/fd");
  int found = 0;
  for (struct dirent* one = readdir(folder); one != NULL; one = readdir(folder)) {
    char path[300], target[64] = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%s", one->d_name);
    if (readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "socket:", 7) == 0) ++found;
  }
  closedir(folder);
  return found;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  for (int call = 0; call < 20; ++call) MPI_OK(checked_alltoall(MPI_COMM_WORLD, 16, call));
  const int before = sockets();
  for (int call = 0; call < size; ++call) {
    if (rank == call % size) usleep(600000);
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, 16, call));
  }
  const int after = sockets();
  for (int away = 1; away < size; ++away) { /* Connections to everybody would be so many. */
    int from = -1;
    MPI_OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + away) % size, 5, &from, 1, MPI_INT, (rank - away + size) % size, 5, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
  }
  const int more[2] = {after - before, sockets() - before};
  int all[2] = {0, 0};
  MPI_OK(MPI_Reduce(more, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
  if (rank == 0) {
    CHECK(all[0] <= 4, "%d more sockets since ranks were late", all[0]);
    CHECK(all[1] > 8, "only %d more with connections to everybody", all[1]);
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
