/* The program makes a known mix of collectives, for the test of traces (traced.py), and then ends. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "persistent_names.h"

static int rank, size;

static void blocking(void) {
  static int out[64], in[64], counts[16], places[16];
  static double sums[16];
  static MPI_Datatype types[16];
  for (int peer = 0; peer < size; ++peer) {
    counts[peer] = 1 + peer;
    places[peer] = 4 * peer;
    types[peer] = MPI_INT;
  }
  for (int turn = 0; turn < 20; ++turn) MPI_OK(MPI_Alltoall(out, 3, MPI_INT, in, 3, MPI_INT, MPI_COMM_WORLD));
  int received[16];
  for (int peer = 0; peer < size; ++peer) received[peer] = 1 + rank;
  MPI_OK(MPI_Alltoallv(out, counts, places, MPI_INT, in, received, places, MPI_INT, MPI_COMM_WORLD));
  for (int peer = 0; peer < size; ++peer) places[peer] = 16 * peer;
  MPI_OK(MPI_Alltoallw(out, counts, places, types, in, received, places, types, MPI_COMM_WORLD));
  for (int turn = 0; turn < 12; ++turn) MPI_OK(MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  MPI_OK(MPI_Allgather(out, 4, MPI_INT, in, 4, MPI_INT, MPI_COMM_WORLD));
  MPI_OK(MPI_Reduce_scatter_block(sums, sums + 8, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void later(void) {
  static char out[64], in[64];
  MPI_Request request;
  for (int turn = 0; turn < 10; ++turn) {
    MPI_OK(MPI_Ialltoall(out, 7, MPI_BYTE, in, 7, MPI_BYTE, MPI_COMM_WORLD, &request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
#if PERSISTENT_COLLECTIVES
  MPI_OK(MPI_Alltoall_init(out, 9, MPI_BYTE, in, 9, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  for (int turn = 0; turn < 3; ++turn) {
    MPI_OK(MPI_Start(&request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  MPI_OK(MPI_Request_free(&request));
#endif
}

static void* one_thread(void* comm) {
  for (int turn = 0; turn < 500; ++turn) MPI_OK(checked_alltoall(*(MPI_Comm*)comm, 5, turn));
  return NULL;
}

static void threads(void) {
  MPI_Comm comms[3];
  pthread_t started[3];
  for (int one = 0; one < 3; ++one) MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[one]));
  for (int one = 0; one < 3; ++one) pthread_create(&started[one], NULL, one_thread, &comms[one]);
  for (int one = 0; one < 3; ++one) pthread_join(started[one], NULL);
  for (int one = 0; one < 3; ++one) MPI_Comm_free(&comms[one]);
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "ends";
  int given = 0;
  MPI_Init_thread(&argc, &argv, strcmp(how, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  blocking();
  later();
  if (strcmp(how, "threads") == 0 && given == MPI_THREAD_MULTIPLE) threads();
  if (rank == 0) usleep(50000); /* The others wait for it. */
  if (strcmp(how, "killed") == 0 && rank == 0) raise(SIGKILL);
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 1000, 0));
  if (strcmp(how, "endless") == 0 && rank == 0) {
    printf("waiting\n");
    fflush(stdout);
    for (;;) pause();
  }
  if (strcmp(how, "endless") == 0) MPI_OK(checked_alltoall(MPI_COMM_WORLD, 1000, 0));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
