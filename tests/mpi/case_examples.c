/* This program serves the test of many cases in one job (cases_test.py). One case is as it should be, and the others fail in every way in which a
 * case may fail.
 *
 *   case_examples right | wrong | ends | aborts | waits */
#include "check.h"

#include <unistd.h>

static int runs; /* Each case has a `runs` of its own. */

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* how = argc > 1 ? argv[1] : "";
  const int rank = rank_in(MPI_COMM_WORLD);
  CHECK(++runs == 1, "its variables are those of another case");
  for (int i = 0; i < 20; ++i) MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, i));
  CHECK(strcmp(how, "wrong") != 0 || rank != 1, "rank 1 is wrong");
  if (strcmp(how, "ends") == 0 && rank == 1) _exit(5);
  if (strcmp(how, "aborts") == 0) MPI_Abort(MPI_COMM_WORLD, 6);
  if (strcmp(how, "waits") == 0 && rank == 0) MPI_Barrier(MPI_COMM_WORLD); /* Rank 0 waits alone. */
  const int result = verdict();
  MPI_Finalize();
  return result;
}
