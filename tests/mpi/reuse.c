/* The send buffer is overwritten as soon as MPI_Alltoall returns, ten thousand times. A rank that was still reading it would receive what is meant
 * for a later call.
 *
 *   reuse CALLS INTS_A_BLOCK */
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 10000;
  const int count = argc > 2 ? atoi(argv[2]) : 1;
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  int* send = malloc(sizeof(int) * (size_t)(size * count));
  int* recv = malloc(sizeof(int) * (size_t)(size * count));
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < size * count; ++i) send[i] = number(rank, i / count, i % count + call);
    MPI_OK(MPI_Alltoall(send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size * count; ++i) send[i] = -1;
    int wrong = 0;
    for (int i = 0; i < size * count; ++i) wrong += recv[i] != number(i / count, rank, i % count + call);
    CHECK(wrong == 0, "call %d: %d elements wrong", call, wrong);
    for (int i = 0; i < size * count; ++i) recv[i] = -2; /* Nobody may write here any more. */
    if (call % 1000 == rank) usleep(2000);
    for (int i = 0; i < size * count; ++i) wrong += recv[i] != -2;
    CHECK(wrong == 0, "call %d: received into the buffer after the return", call);
  }
  free(send);
  free(recv);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
