/* Two threads make blocking collective calls on one communicator at the same time, which MPI forbids and MPI libraries let pass: they match in some
 * order. All calls are alike, so that any order is right.
 *
 *   unordered_threads CALLS */
#include <pthread.h>

#include "check.h"

enum { kMost = 20000 };

static MPI_Comm comm;
static int calls, rank, size;

static void check_sum(int count, int* send, int* recv) {
  for (int i = 0; i < count; ++i) send[i] = number(rank, 0, i), recv[i] = -1;
  MPI_OK(MPI_Allreduce(send, recv, count, MPI_INT, MPI_BXOR, comm));
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    int expected = 0;
    for (int peer = 0; peer < size; ++peer) expected ^= number(peer, 0, i);
    wrong += recv[i] != expected;
  }
  CHECK(wrong == 0, "%d wrong elements of MPI_Allreduce of %d", wrong, count);
}

static void check_blocks(int count, int* send, int* recv) {
  for (int i = 0; i < size * count; ++i) send[i] = number(rank, i / count, i % count), recv[i] = -1;
  MPI_OK(MPI_Alltoall(send, count, MPI_INT, recv, count, MPI_INT, comm));
  int wrong = 0;
  for (int i = 0; i < size * count; ++i) wrong += recv[i] != number(i / count, rank, i % count);
  CHECK(wrong == 0, "%d wrong elements of MPI_Alltoall of %d", wrong, count);
}

/* One count and one collective come at a time, with a barrier of the threads between them. */
static pthread_barrier_t all_here;

static void* call(void* unused) {
  int* const send = malloc(sizeof(int) * kMost * (size_t)size);
  int* const recv = malloc(sizeof(int) * kMost * (size_t)size);
  const int counts[] = {3, 500, kMost};
  for (int form = 0; form < 6; ++form) {
    pthread_barrier_wait(&all_here);
    for (int i = 0; i < calls; ++i) (form % 2 ? check_blocks : check_sum)(counts[form / 2], send, recv);
  }
  free(send);
  free(recv);
  return unused;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE || argc != 2) return 2;
  calls = atoi(argv[1]);
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  rank = rank_in(comm), size = size_of_comm(comm);
  pthread_barrier_init(&all_here, NULL, 1);
  (void)call(NULL); /* It opens the communicator. */
  pthread_barrier_init(&all_here, NULL, 2);
  pthread_t other;
  pthread_create(&other, NULL, call, NULL);
  (void)call(NULL);
  pthread_join(other, NULL);
  MPI_OK(MPI_Comm_free(&comm));
  MPI_Finalize();
  return verdict();
}
