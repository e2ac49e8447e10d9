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

/* This is one rank's part in a call. */
typedef struct {
  which_call which;
  int call, root, gathers, reduces, is_root, in_place; /* in_place: this rank gives MPI_IN_PLACE. */
  int mine, sent, received;                            /* They count ints. */
  int *send, *recv, *from, *got;                       /* The processor may touch the last two. */
} part;

static part prepare(which_call which, MPI_Comm comm, int call) {
  const int rank = rank_in(comm), size = size_of_comm(comm);
  lay_out(which, size, call);
  part it = {.which = which, .call = call, .root = call / 2 % size, .mine = counts[rank]};
  it.gathers = which == gather || which == gatherv || which == allgatherv;
  it.reduces = which == reduce_scatter;
  it.is_root = rank == it.root || which == allgatherv || it.reduces;
  it.in_place = call % 3 == 2 && it.is_root;
  it.sent = it.gathers ? it.mine : all;
  it.received = it.gathers || (it.reduces && it.in_place) ? all : it.mine;
  it.send = device_alloc(sizeof(int) * (size_t)(it.sent + 1), 0);
  it.recv = device_alloc(sizeof(int) * (size_t)(it.received + 1), 0);
  it.from = touchable(it.send);
  it.got = touchable(it.recv);
  for (int at = 0; at <= it.sent; ++at) it.from[at] = -1;
  for (int at = 0; at <= it.received; ++at) it.got[at] = -1;
  int* const row = it.reduces && it.in_place ? it.got : it.from;
  for (int owner = 0; owner < size && !it.gathers; ++owner) {
    for (int at = 0; at < counts[owner]; ++at) row[places[owner] + at] = value(it.reduces ? rank : it.root, owner, at, call);
  }
  for (int at = 0; at < it.mine && it.gathers; ++at) (it.in_place ? it.got + places[rank] : it.from)[at] = value(it.root, rank, at, call);
  return it;
}

static void make(const part* it, MPI_Comm comm) {
  const int scatters = it->which == scatter || it->which == scatterv, mine = it->mine;
  const void* const send = it->in_place && !scatters ? MPI_IN_PLACE : it->send;
  void* const recv = it->in_place && scatters ? MPI_IN_PLACE : it->recv;
  switch (it->which) {
    case gather: MPI_OK(MPI_Gather(send, mine, MPI_INT, recv, mine, MPI_INT, it->root, comm)); break;
    case gatherv: MPI_OK(MPI_Gatherv(send, mine, MPI_INT, recv, counts, places, MPI_INT, it->root, comm)); break;
    case scatter: MPI_OK(MPI_Scatter(send, mine, MPI_INT, recv, mine, MPI_INT, it->root, comm)); break;
    case scatterv: MPI_OK(MPI_Scatterv(send, counts, places, MPI_INT, recv, mine, MPI_INT, it->root, comm)); break;
    case allgatherv: MPI_OK(MPI_Allgatherv(send, mine, MPI_INT, recv, counts, places, MPI_INT, comm)); break;
    default: MPI_OK(MPI_Reduce_scatter(send, recv, counts, MPI_INT, MPI_SUM, comm)); break;
  }
}

/* Compares with the definition of the collective. Nothing may be written elsewhere. */
static int count_wrong(const part* it, MPI_Comm comm) {
  const int rank = rank_in(comm), size = size_of_comm(comm);
  int wrong = it->got[it->received] != -1;
  for (int owner = 0; owner < size && it->gathers && it->is_root; ++owner) {
    for (int at = 0; at < counts[owner]; ++at) wrong += it->got[places[owner] + at] != value(it->root, owner, at, it->call);
  }
  for (int at = 0; at < it->received && it->gathers && !it->is_root; ++at) wrong += it->got[at] != -1;
  for (int at = 0; at < it->mine && !it->gathers && (it->reduces || !it->in_place); ++at) {
    int right = it->reduces ? 0 : value(it->root, rank, at, it->call);
    for (int peer = 0; peer < size && it->reduces; ++peer) right += value(peer, rank, at, it->call);
    wrong += it->got[at] != right;
  }
  return wrong;
}

static void one_call(which_call which, MPI_Comm comm, int call) {
  const part it = prepare(which, comm, call);
  make(&it, comm);
  const char* const by = last_algorithm == NULL ? "no crossrail" : last_algorithm();
  const int wrong = count_wrong(&it, comm);
  CHECK(wrong == 0, "%d wrong in %s%s, root %d, call %d, by %s", wrong, kNames[which], it.in_place ? " in place" : "", it.root, call, by);
  CHECK(last_algorithm == NULL || strncmp(by, "ipc_", 4) == 0, "%s%s is carried by %s in call %d", kNames[which], it.in_place ? " in place" : "", by, call);
  device_free(it.send);
  device_free(it.recv);
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
