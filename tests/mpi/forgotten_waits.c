/* A rank forgets to wait for nonblocking collectives and goes to MPI_Finalize, which MPI forbids. The others have its data all the same, as MPI
 * libraries go on with theirs within MPI_Finalize.
 *
 *   forgotten_waits INTS */
#include <unistd.h>

#include "check.h"

enum { kMost = 20000, kRanks = 4, kCalls = 3 };

static int send[kMost * kRanks], recv[kCalls][kMost * kRanks], seen[kCalls][kMost * kRanks];
static int rank, ranks, count;
static MPI_Comm comm;

static void start(MPI_Request* requests) {
  MPI_OK(MPI_Ialltoall(send, count, MPI_INT, recv[0], count, MPI_INT, comm, &requests[0]));
  MPI_OK(MPI_Iallreduce(send, recv[1], count, MPI_INT, MPI_SUM, comm, &requests[1]));
  MPI_OK(MPI_Iallgather(send, count, MPI_INT, recv[2], count, MPI_INT, comm, &requests[2]));
}

static void keep_what_is_right(void) {
  MPI_OK(MPI_Alltoall(send, count, MPI_INT, seen[0], count, MPI_INT, comm));
  MPI_OK(MPI_Allreduce(send, seen[1], count, MPI_INT, MPI_SUM, comm));
  MPI_OK(MPI_Allgather(send, count, MPI_INT, seen[2], count, MPI_INT, comm));
}

static void finalized(void) {
  MPI_Request requests[kCalls];
  if (rank != 1) usleep(300000);
  start(requests);
  if (rank == 1) return;
  MPI_OK(MPI_Waitall(kCalls, requests, MPI_STATUSES_IGNORE));
  for (int call = 0; call < kCalls; ++call) CHECK(memcmp(recv[call], seen[call], sizeof recv[call]) == 0, "rank %d, call %d", rank, call);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  count = argc > 1 ? atoi(argv[1]) : 4;
  comm = MPI_COMM_WORLD;
  rank = rank_in(comm);
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < count * ranks; ++i) send[i] = number(rank, i / count, i % count);
  for (int warm = 0; warm < 12; ++warm) {
    MPI_Request requests[kCalls];
    keep_what_is_right();
    start(requests);
    MPI_OK(MPI_Waitall(kCalls, requests, MPI_STATUSES_IGNORE));
  }
  memset(recv, 0, sizeof recv);
  finalized();
  const int result = verdict();
  MPI_Finalize();
  return result;
}
