/* The program calls MPI_Alltoall without end, or for a while, for runs that are ended from outside.
 *
 *   endless INTS [CALLS]      each rank says "rank R is process P." once it has made its first calls */
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) : 1, calls = argc > 2 ? atoi(argv[2]) : -1;
  for (int i = 0; i < 3; ++i) MPI_OK(checked_alltoall(MPI_COMM_WORLD, count, i));
  printf("rank %d is process %d.\n", rank_in(MPI_COMM_WORLD), (int)getpid());
  fflush(stdout);
  for (int i = 0; i != calls; ++i) {
    if (checked_alltoall(MPI_COMM_WORLD, count, i) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 5);
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
