/* Two ranks disagree in one call while the others, who have no part in that, are in the next one or further on.
 *
 *   error_behind CASE
 *      alltoall    the next call can be made by the MPI library: no error in it, on any rank
 *      in_place    it cannot: an error on all ranks
 *      further     the others go on by several calls before they need the two
 *      more        rank 1 expects what rank 0 does not send; both go on (legal under some MPIs)
 *
 * No rank hangs, and all ranks take a call alike in which all need all. */
#include <unistd.h>

#include "check.h"

enum { kMostRanks = 16, kInts = 32 };

static int send[kMostRanks * kInts], recv[kMostRanks * kInts];

/* Rank `from` sends `sent` ints to rank `to`, who awaits another number. Nobody else sends anything. */
static int lone(int from, int to, int sent, int awaited) {
  int out[kMostRanks] = {0}, in[kMostRanks] = {0}, places[kMostRanks];
  for (int i = 0; i < kMostRanks; ++i) places[i] = i * kInts;
  if (rank_in(MPI_COMM_WORLD) == from) out[to] = sent;
  if (rank_in(MPI_COMM_WORLD) == to) in[from] = awaited;
  return MPI_Alltoallv(send, out, places, MPI_INT, recv, in, places, MPI_INT, MPI_COMM_WORLD);
}

static int in_place(void) {
  for (int i = 0; i < kMostRanks * kInts; ++i) recv[i] = i;
  return MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, kInts, MPI_INT, MPI_COMM_WORLD);
}

/* Returns how many ranks got an error in the call that has this code. */
static int errors_in(int code) {
  int mine = code != MPI_SUCCESS, all = 0;
  MPI_OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  return all;
}

static int next_call(const char* which) {
  const int code = strcmp(which, "in_place") == 0 ? in_place() : checked_alltoall(MPI_COMM_WORLD, 5, 1);
  printf("next: code %d\n", code);
  return code;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* which = argc > 1 ? argv[1] : "alltoall";
  const int size = size_of_comm(MPI_COMM_WORLD), more = strcmp(which, "more") == 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < 3; ++i) MPI_OK(lone(0, 1, 4, 4));
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank_in(MPI_COMM_WORLD) == 1) usleep(300000);
  const int code = lone(0, 1, more ? 0 : 4, more ? 1 : 6);
  printf("first: code %d\n", code);
  for (int i = 0; i < 3 && strcmp(which, "further") == 0; ++i) (void)lone(1, 0, 4, 4);
  const int errors = errors_in(next_call(which));
  CHECK(errors == 0 || errors == size, "an error on %d of %d ranks", errors, size);
  CHECK(errors == 0 || strcmp(which, "in_place") == 0 || more, "an error in a call that can be made natively");
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 7, 2)); /* All is well again. */
  MPI_OK(lone(0, 1, 4, 4));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
