/* A function that the process calls at its end makes calls and calls MPI_Finalize, after the static objects and the thread's own objects of all
 * libraries have been destroyed: it was registered before any of them was there. With HOST_DEVICE, the path of a driver, it also makes calls on
 * device memory. */
#include <unistd.h>

#include "check.h"
#include "device_memory_of_tests.h"

enum { kCount = 3000, kRanks = 16 };

static int *send, *recv, *sent, *got;
static MPI_Comm kept; /* It is never freed. */

static void calls(MPI_Comm comm, int call) {
  const int rank = rank_in(comm), size = size_of_comm(comm);
  int wrong = 0, counts[kRanks], places[kRanks], sum = 0;
  for (int at = 0; at < size * kCount; ++at) sent[at] = number(rank, at / kCount, at % kCount + call), got[at] = -1;
  for (int peer = 0; peer < size; ++peer) counts[peer] = kCount, places[peer] = peer * kCount;
  if (call % 2) MPI_OK(MPI_Alltoallv(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, comm));
  else MPI_OK(MPI_Alltoall(send, kCount, MPI_INT, recv, kCount, MPI_INT, comm));
  for (int at = 0; at < size * kCount; ++at) wrong += got[at] != number(at / kCount, rank, at % kCount + call);
  const int one = 1;
  MPI_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(wrong == 0 && sum == size, "call %d: %d wrong, a sum of %d", call, wrong, sum);
}

static void at_the_end(void) {
  MPI_Comm another;
  for (int call = 100; call < 106; ++call) calls(call % 3 ? MPI_COMM_WORLD : kept, call);
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &another));
  for (int call = 106; call < 112; ++call) calls(another, call);
  const int result = verdict();
  MPI_Finalize();
  if (result != 0) _exit(result);
}

int main(int argc, char** argv) {
  atexit(at_the_end);
  MPI_Init(&argc, &argv);
  const size_t bytes = sizeof(int) * kCount * (size_t)size_of_comm(MPI_COMM_WORLD);
  if (getenv("HOST_DEVICE") != NULL) {
    open_driver();
    send = device_alloc(bytes, 0), recv = device_alloc(bytes, 0), sent = touchable(send), got = touchable(recv);
  } else {
    send = sent = malloc(bytes), recv = got = malloc(bytes);
  }
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &kept));
  for (int call = 0; call < 20; ++call) calls(call % 3 ? kept : MPI_COMM_WORLD, call);
  exit(0);
}
