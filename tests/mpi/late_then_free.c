/* Ranks on several nodes wait so long for a late one that they ask what is the matter; then the
 * communicator is freed. MPICH 5 ends programs that free a communicator with messages on it.
 *
 *   late_then_free [ROUNDS] [LATE_MICROSECONDS] */
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int ranks = size_of_comm(MPI_COMM_WORLD), rank = rank_in(MPI_COMM_WORLD);
  const int rounds = argc > 1 ? atoi(argv[1]) : 4, late = argc > 2 ? atoi(argv[2]) : 300000;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int send[64], recv[64];
    for (int call = 0; call < 3; ++call) {
      for (int peer = 0; peer < ranks; ++peer) send[peer] = 1000 * rank + peer + call;
      if (call == 1 && rank == round % ranks) usleep((useconds_t)late);
      MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm);
      for (int peer = 0; peer < ranks; ++peer) CHECK(recv[peer] == 1000 * peer + rank + call, "from %d: %d", peer, recv[peer]);
    }
    MPI_Comm_free(&comm);
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
