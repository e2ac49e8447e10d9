/* At MPI_THREAD_MULTIPLE two threads call MPI_Alltoall on two communicators at the same time, and make and free communicators of their own meanwhile.
 * */
#include <pthread.h>

#include "check.h"

enum { kCalls = 400, kThreads = 2 };

static MPI_Comm comms[kThreads];

static void* work(void* index) {
  const int mine = (int)(long)index;
  for (int i = 0; i < kCalls; ++i) {
    MPI_OK(checked_alltoall(comms[mine], 1 + (i * 37 + mine) % 2000, i));
    if (i % 50 == 0) {
      MPI_Comm own;
      MPI_OK(MPI_Comm_dup(comms[mine], &own));
      MPI_OK(checked_alltoall(own, 3, i));
      MPI_OK(MPI_Comm_free(&own));
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    printf("no MPI_THREAD_MULTIPLE here\n");
    MPI_Finalize();
    return 77;
  }
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) MPI_OK(MPI_Comm_free(&comms[i]));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
