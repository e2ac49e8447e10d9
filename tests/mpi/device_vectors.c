/* Calls that crossrail leaves to an MPI library which knows nothing of devices, on the memory of a device that is made of
 * host memory (virtual_world/host_device.h) and that no processor can touch: MPI_Alltoallv and w, and MPI_Alltoall, on
 * one rank and on all. HOST_DEVICE is the path of the driver.
 *
 *   device_vectors [CALLS] */
#include <dlfcn.h>
#include <stdint.h>

#include "check.h"

enum { kMostRanks = 16 };

static void* (*device_alloc)(size_t, int);
static void (*device_free)(void*);
static void* (*touchable)(const void*);

static void open_driver(void) {
  void* driver = dlopen(getenv("HOST_DEVICE"), RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) fprintf(stderr, "%s\n", dlerror());
  device_alloc = (void* (*)(size_t, int))dlsym(driver, "host_device_alloc");
  device_free = (void (*)(void*))dlsym(driver, "host_device_free");
  touchable = (void* (*)(const void*))dlsym(driver, "host_device_touchable");
}

/* Blocks of different lengths, two ints apart, the odd ints of the type left out; in place every second time. */
static void vector(MPI_Comm comm, int call, int by_types) {
  const int rank = rank_in(comm), size = size_of_comm(comm), in_place = call % 2;
  int counts[kMostRanks], offsets[kMostRanks], bytes[kMostRanks];
  MPI_Datatype gaps, types[kMostRanks];
  MPI_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps));
  MPI_OK(MPI_Type_commit(&gaps));
  int all = 0;
  for (int peer = 0; peer < size; ++peer) {
    counts[peer] = 1 + (in_place ? 3 : 10 * (rank + peer));
    offsets[peer] = all;
    bytes[peer] = all * 2 * (int)sizeof(int);
    types[peer] = gaps;
    all += counts[peer] + 1;
  }
  int* const send = device_alloc(sizeof(int) * 2 * (size_t)all, 0);
  int* const recv = device_alloc(sizeof(int) * 2 * (size_t)all, 0);
  int *const sent = touchable(send), *const got = touchable(recv);
  for (int at = 0; at < 2 * all; ++at) sent[at] = got[at] = -1;
  for (int peer = 0; peer < size; ++peer) {
    for (int at = 0; at < counts[peer]; ++at) (in_place ? got : sent)[2 * (offsets[peer] + at)] = number(rank, peer, at + call);
  }
  const void* const from = in_place ? MPI_IN_PLACE : send;
  if (by_types) MPI_OK(MPI_Alltoallw(from, counts, bytes, types, recv, counts, bytes, types, comm));
  else MPI_OK(MPI_Alltoallv(from, counts, offsets, gaps, recv, counts, offsets, gaps, comm));
  int wrong = 0;
  for (int peer = 0; peer < size; ++peer) {
    for (int at = 0; at < counts[peer]; ++at) {
      wrong += got[2 * (offsets[peer] + at)] != number(peer, rank, at + call);
      wrong += got[2 * (offsets[peer] + at) + 1] != -1;
    }
  }
  CHECK(wrong == 0, "%d wrong in a vector on %d ranks%s%s", wrong, size, by_types ? " by types" : "", in_place ? ", in place" : "");
  MPI_OK(MPI_Type_free(&gaps));
  device_free(send);
  device_free(recv);
}

static void plain(MPI_Comm comm, int call) {
  const int rank = rank_in(comm), size = size_of_comm(comm), count = 1000;
  int* const send = device_alloc(sizeof(int) * (size_t)(size * count), 0);
  int* const recv = device_alloc(sizeof(int) * (size_t)(size * count), 0);
  int *const sent = touchable(send), *const got = touchable(recv);
  for (int at = 0; at < size * count; ++at) sent[at] = number(rank, at / count, at % count + call);
  MPI_OK(MPI_Alltoall(send, count, MPI_INT, recv, count, MPI_INT, comm));
  int wrong = 0;
  for (int at = 0; at < size * count; ++at) wrong += got[at] != number(at / count, rank, at % count + call);
  CHECK(wrong == 0, "%d wrong on %d ranks", wrong, size);
  device_free(send);
  device_free(recv);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 10;
  open_driver();
  for (int call = 1; call <= calls; ++call) {
    const MPI_Comm comms[] = {MPI_COMM_SELF, MPI_COMM_WORLD};
    for (int which = 0; which < 2; ++which) {
      vector(comms[which], call, 0);
      vector(comms[which], call, 1);
      plain(comms[which], call);
    }
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
