/* A rank resets its device. What it and its peers had opened and mapped there is gone, and calls go on. HOST_DEVICE is the path of the driver.
 *
 *   device_reset empty   that rank sends and receives nothing any more
 *   device_reset anew    that rank allocates anew, and the calls are on another communicator */
#include <dlfcn.h>

#include "check.h"
#include "device_memory_of_tests.h"

enum { kCount = 1000, kCalls = 6, kMostRanks = 8 };

/* The layout is that of struct host_device_options (virtual_world/host_device.h). */
struct options {
  int refuse_maps, refuse_all_maps, devices;
  size_t most_bytes;
  unsigned delay_us;
  int refuse_queues, generation, break_lines;
};

static int rank, size;
static char *send, *recv; /* They are null if this rank has nothing. */

static void allocate(void) {
  const size_t bytes = sizeof(int) * kCount * (size_t)size;
  send = device_alloc(bytes, 0);
  recv = device_alloc(bytes, 0);
}

static void reset(void) {
  void (*set)(const struct options*) = (void (*)(const struct options*))dlsym(RTLD_DEFAULT, "host_device_set");
  const struct options other = {.generation = 1};
  device_free(send);
  device_free(recv);
  send = recv = NULL;
  set(&other);
}

/* `without` is the rank that has nothing; with -1 all ranks have something. */
static void calls(MPI_Comm comm, int without) {
  int counts[kMostRanks], places[kMostRanks];
  for (int peer = 0; peer < size; ++peer) {
    counts[peer] = rank == without || peer == without ? 0 : kCount;
    places[peer] = kCount * peer;
  }
  for (int call = 0; call < kCalls; ++call) {
    int *from = send == NULL ? NULL : (int*)touchable(send), *to = recv == NULL ? NULL : (int*)touchable(recv);
    for (int i = 0; from != NULL && i < kCount * size; ++i) {
      from[i] = number(rank, i / kCount, i % kCount + call);
      to[i] = -1;
    }
    MPI_OK(MPI_Alltoallv(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, comm));
    for (int i = 0; to != NULL && i < kCount * size; ++i) {
      const int peer = i / kCount, expected = peer == without ? -1 : number(peer, rank, i % kCount + call);
      CHECK(to[i] == expected, "call %d, from rank %d: %d instead of %d", call, peer, to[i], expected);
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of_comm(MPI_COMM_WORLD);
  open_driver();
  allocate();
  calls(MPI_COMM_WORLD, -1);
  const int last = size - 1;
  if (rank == last) reset();
  if (argc > 1 && strcmp(argv[1], "empty") == 0) {
    calls(MPI_COMM_WORLD, last);
  } else {
    MPI_Comm other;
    if (rank == last) allocate();
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    calls(other, -1);
    MPI_Comm_free(&other);
  }
  MPI_Finalize();
  return verdict();
}
