/* A large send is pending on one side while that side enters MPI_Alltoall, and the other side receives it before it enters. A rank that waits in
 * MPI_Alltoall must therefore move MPI's messages on. */
#include "check.h"

static void exchange(int bytes, int count, int backwards) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  char* data = malloc((size_t)bytes);
  const int sends = backwards ? rank != 0 : rank == 0;
  const int partners = backwards || rank == 0 ? size - 1 : 1;
  MPI_Request* requests = malloc(sizeof *requests * (size_t)size);
  memset(data, sends ? 7 : 0, (size_t)bytes);
  if (sends) {
    int posted = 0;
    for (int other = 0; other < size; ++other) {
      if (other == rank || (backwards && other != 0)) continue;
      MPI_OK(MPI_Isend(data, bytes, MPI_BYTE, other, 4, MPI_COMM_WORLD, &requests[posted++]));
    }
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, count, bytes));
    MPI_OK(MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE));
  } else {
    for (int i = 0; i < (backwards ? partners : 1); ++i) {
      MPI_OK(MPI_Recv(data, bytes, MPI_BYTE, backwards ? i + 1 : 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(data[0] == 7 && data[bytes - 1] == 7, "received something else");
      memset(data, 0, (size_t)bytes);
    }
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, count, bytes));
  }
  free(data);
  free(requests);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int bytes[] = {1 << 10, 1 << 16, 1 << 20, 8 << 20};
  const int counts[] = {0, 1, 200, 20000, 200000};
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 1, 1));
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 5; ++j) {
      exchange(bytes[i], counts[j], 0);
      exchange(bytes[i], counts[j], 1);
    }
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
