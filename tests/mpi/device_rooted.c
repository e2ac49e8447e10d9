/* The program calls MPI_Gather, MPI_Scatter, their v forms, MPI_Allgatherv and MPI_Reduce_scatter on the memory of a device that is made of host memory
 * (virtual_world/host_device.h) and that no processor can touch. crossrail must carry them on the device. HOST_DEVICE is the path of the driver.
 *
 *   device_rooted [CALLS] */
#include <string.h>

#include "check.h"
#include "device_memory_of_tests.h"

enum { kMostRanks = 16 };
typedef enum { gather, gatherv, scatter, scatterv, allgatherv, reduce_scatter, kCalls } which_call;
static const char* const kNames[kCalls] = {"MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv", "MPI_Allgatherv", "MPI_Reduce_scatter"};

static const char* (*last_algorithm)(void);
static int counts[kMostRanks], places[kMostRanks], all;

/* Calls with counts have blocks of different lengths, one of them empty, with gaps between them. */
static void lay_out(which_call which, int size, int call) {
  all = 0;
  for (int rank = 0; rank < size; ++rank) {
    const int equal = which == gather || which == scatter;
    counts[rank] = equal ? 40 + call : (rank == call % size ? 0 : 30 * (rank + 1) + call);
    places[rank] = all + (equal || which == reduce_scatter ? 0 : 2);
    all = places[rank] + counts[rank];
  }
}

/* The block of `owner` goes to or comes from the root, or is the part that belongs to `owner` of the row of `rank`. */
static int value(int rank, int owner, int at, int call) { return number(rank, owner, at + call); }

static void one_call(which_call which, MPI_Comm comm, int call) {
  const int rank = rank_in(comm), size = size_of_comm(comm), root = call / 2 % size, in_place = call % 3 == 2;
  lay_out(which, size, call);
  const int gathers = which == gather || which == gatherv || which == allgatherv, reduces = which == reduce_scatter;
  const int is_root = gathers || !reduces ? which == allgatherv || rank == root : 1;
  const int own_in_place = in_place && is_root;
  const int mine = counts[rank], sends_row = !gathers;
  const int sent = sends_row ? all : mine, received = gathers || (reduces && own_in_place) ? all : mine;
  int* const send = device_alloc(sizeof(int) * (size_t)(sent + 1), 0);
  int* const recv = device_alloc(sizeof(int) * (size_t)(received + 1), 0);
  int *const from = touchable(send), *const got = touchable(recv);
  for (int at = 0; at <= sent; ++at) from[at] = -1;
  for (int at = 0; at <= received; ++at) got[at] = -1;
  int* const row = reduces && own_in_place ? got : from;
  for (int owner = 0; owner < size && sends_row; ++owner) {
    for (int at = 0; at < counts[owner]; ++at) row[places[owner] + at] = value(reduces ? rank : root, owner, at, call);
  }
  for (int at = 0; at < mine && gathers; ++at) (own_in_place ? got + places[rank] : from)[at] = value(root, rank, at, call);
  const void* const given = own_in_place && which != scatter && which != scatterv ? MPI_IN_PLACE : send;
  void* const taken = own_in_place && (which == scatter || which == scatterv) ? MPI_IN_PLACE : recv;
  switch (which) {
    case gather: MPI_OK(MPI_Gather(given, mine, MPI_INT, taken, mine, MPI_INT, root, comm)); break;
    case gatherv: MPI_OK(MPI_Gatherv(given, mine, MPI_INT, taken, counts, places, MPI_INT, root, comm)); break;
    case scatter: MPI_OK(MPI_Scatter(given, mine, MPI_INT, taken, mine, MPI_INT, root, comm)); break;
    case scatterv: MPI_OK(MPI_Scatterv(given, counts, places, MPI_INT, taken, mine, MPI_INT, root, comm)); break;
    case allgatherv: MPI_OK(MPI_Allgatherv(given, mine, MPI_INT, taken, counts, places, MPI_INT, comm)); break;
    default: MPI_OK(MPI_Reduce_scatter(given, taken, counts, MPI_INT, MPI_SUM, comm)); break;
  }
  const char* const by = last_algorithm == NULL ? "no crossrail" : last_algorithm();
  int wrong = got[received] != -1;
  if (gathers) {
    for (int owner = 0; owner < size && is_root; ++owner) {
      for (int at = 0; at < counts[owner]; ++at) wrong += got[places[owner] + at] != value(root, owner, at, call);
    }
    for (int at = 0; at < received && !is_root; ++at) wrong += got[at] != -1;
  } else {
    for (int at = 0; at < mine && !(own_in_place && !reduces); ++at) {
      int right = reduces ? 0 : value(root, rank, at, call);
      for (int peer = 0; peer < size && reduces; ++peer) right += value(peer, rank, at, call);
      wrong += got[at] != right;
    }
  }
  CHECK(wrong == 0, "%d wrong in %s%s, root %d, call %d, by %s", wrong, kNames[which], in_place ? " in place" : "", root, call, by);
  CHECK(last_algorithm == NULL || strncmp(by, "ipc_", 4) == 0, "%s%s is carried by %s in call %d", kNames[which], in_place ? " in place" : "", by, call);
  device_free(send);
  device_free(recv);
}

int main(int argc, char** argv) {
  const int calls = argc > 1 ? atoi(argv[1]) : 8;
  open_driver();
  MPI_OK(MPI_Init(&argc, &argv));
  for (int again = 0; again < 10; ++again) MPI_OK(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  *(void**)&last_algorithm = dlsym(RTLD_DEFAULT, "crossrail_last_algorithm");
  for (int which = 0; which < kCalls; ++which) {
    for (int call = 0; call < calls; ++call) one_call((which_call)which, MPI_COMM_WORLD, call);
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
