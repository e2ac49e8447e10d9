/* Ranks arrive up to 50 ms late, in random order, with blocks of many sizes. */
#include <unistd.h>

#include "check.h"
#include "random_numbers.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 40;
  Random own = random_from(77 + (unsigned)rank_in(MPI_COMM_WORLD));
  const int counts[] = {0, 1, 17, 300, 5000, 40000};
  for (int i = 0; i < calls; ++i) {
    if (random_below(&own, 2) == 0) usleep((useconds_t)random_below(&own, 50000));
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, counts[i % 6], i));
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
