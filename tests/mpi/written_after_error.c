/* Once a call has returned, with an error too, its buffers are the program's: nothing may arrive in them any more. Ranks 0 and 1 are on one node, 2
 * and 3 on another. Rank 0 is late with a long block for rank 2, which has met an error with rank 3 by then. */
#include <unistd.h>

#include "check.h"

enum { kRanks = 4, kLong = 100000, kShort = 64, kMark = 0x5a };

static unsigned char send[kRanks * kLong], recv[kRanks * kLong];

static int call(int disagree) {
  int out[kRanks] = {0}, in[kRanks] = {0}, places[kRanks];
  const int rank = rank_in(MPI_COMM_WORLD);
  for (int i = 0; i < kRanks; ++i) places[i] = i * kLong;
  if (rank == 0) out[2] = kLong;
  if (rank == 2) in[0] = kLong;
  if (rank == 3) out[2] = kShort;
  if (rank == 2) in[3] = disagree ? kShort - 8 : kShort;
  return MPI_Alltoallv(send, out, places, MPI_BYTE, recv, in, places, MPI_BYTE, MPI_COMM_WORLD);
}

/* Watches for two seconds, while the MPI library makes progress. */
static void watch(void) {
  int flag = 0;
  for (int look = 0; look < 200; ++look) {
    MPI_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    usleep(10000);
  }
  size_t written = 0;
  for (size_t i = 0; i < sizeof recv; ++i) written += recv[i] != kMark;
  CHECK(written == 0, "%zu bytes were written after the error", written);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int rank = rank_in(MPI_COMM_WORLD);
  memset(send, 0xc3, sizeof send);
  for (int i = 0; i < 3; ++i) MPI_OK(call(0));
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) usleep(1500000);
  const int code = call(1);
  printf("code %d\n", code);
  CHECK(rank != 2 || code != MPI_SUCCESS, "no error");
  memset(recv, kMark, sizeof recv);
  if (rank == 2 && code != MPI_SUCCESS) watch();
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 5, 1));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
