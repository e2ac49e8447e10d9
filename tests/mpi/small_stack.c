/* The program calls MPI_Alltoall and MPI_Allgather in a thread whose stack is small. MPI libraries do these with little stack. The first calls open
 * the communicator.
 *
 *   small_stack KIB */
#include <pthread.h>

#include "check.h"

enum { kCalls = 60, kCount = 100, kMostRanks = 8 };

static MPI_Comm comm;
static int rank, size;
static int sent[kMostRanks * kCount], received[kMostRanks * kCount];

static void check_call(int call, int all_alike) {
  int wrong = 0;
  for (int i = 0; i < size * kCount; ++i) sent[i] = number(rank + call, all_alike ? 0 : i / kCount, i % kCount), received[i] = -1;
  if (all_alike) MPI_OK(MPI_Allgather(sent, kCount, MPI_INT, received, kCount, MPI_INT, comm));
  else MPI_OK(MPI_Alltoall(sent, kCount, MPI_INT, received, kCount, MPI_INT, comm));
  for (int i = 0; i < size * kCount; ++i) wrong += received[i] != number(i / kCount + call, all_alike ? 0 : rank, i % kCount);
  CHECK(wrong == 0, "call %d: %d wrong elements", call, wrong);
}

static void* make_calls(void* unused) {
  (void)unused;
  for (int call = 0; call < kCalls; ++call) check_call(call, call % 2);
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  if (argc != 2 || provided < MPI_THREAD_SERIALIZED) return 2;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(size <= kMostRanks, "%d ranks", size);
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, (size_t)atoi(argv[1]) << 10) == 0, "no stack of %s KiB", argv[1]);
  CHECK(pthread_create(&thread, &attributes, make_calls, NULL) == 0 && pthread_join(thread, NULL) == 0, "no thread");
  pthread_attr_destroy(&attributes);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return verdict();
}
