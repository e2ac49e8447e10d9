/* The program calls MPI_Alltoallv and w, and MPI_Alltoall, on one rank and on all, on the memory of a device that is made of host memory
 * (virtual_world/host_device.h) and that no processor can touch. crossrail carries the calls, or an MPI library which knows nothing of devices.
 * HOST_DEVICE is the path of the driver.
 *
 *   device_vectors [CALLS [scattered]]    scattered: blocks of both kinds of memory */
#include <stdint.h>

#include "check.h"
#include "device_memory_of_tests.h"

enum { kMostRanks = 16 };

/* Blocks have different lengths and lie two ints apart. The odd ints of the type are left out, and every second call is in place. */
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

/* Blocks are at absolute addresses. Those of odd peers are in host memory, those of even ones are in device memory. */
static void scattered(MPI_Comm comm, int call) {
  const int rank = rank_in(comm), size = size_of_comm(comm), count = 50 + call;
  int *send[kMostRanks], *recv[kMostRanks], ones[kMostRanks], zeros[kMostRanks];
  MPI_Datatype from[kMostRanks], to[kMostRanks];
  for (int peer = 0; peer < size; ++peer) {
    const size_t bytes = sizeof(int) * (size_t)count;
    send[peer] = peer % 2 != 0 ? malloc(bytes) : device_alloc(bytes, 0);
    recv[peer] = peer % 2 != 0 ? malloc(bytes) : device_alloc(bytes, 0);
    int* const values = peer % 2 != 0 ? send[peer] : touchable(send[peer]);
    for (int at = 0; at < count; ++at) values[at] = number(rank, peer, at + call);
    const MPI_Aint places[2] = {(MPI_Aint)(intptr_t)send[peer], (MPI_Aint)(intptr_t)recv[peer]};
    MPI_OK(MPI_Type_create_hindexed(1, &count, &places[0], MPI_INT, &from[peer]));
    MPI_OK(MPI_Type_create_hindexed(1, &count, &places[1], MPI_INT, &to[peer]));
    MPI_OK(MPI_Type_commit(&from[peer]));
    MPI_OK(MPI_Type_commit(&to[peer]));
    ones[peer] = 1;
    zeros[peer] = 0;
  }
  MPI_OK(MPI_Alltoallw(MPI_BOTTOM, ones, zeros, from, MPI_BOTTOM, ones, zeros, to, comm));
  int wrong = 0;
  for (int peer = 0; peer < size; ++peer) {
    const int* const values = peer % 2 != 0 ? recv[peer] : touchable(recv[peer]);
    for (int at = 0; at < count; ++at) wrong += values[at] != number(peer, rank, at + call);
    MPI_OK(MPI_Type_free(&from[peer]));
    MPI_OK(MPI_Type_free(&to[peer]));
    if (peer % 2 != 0) {
      free(send[peer]);
      free(recv[peer]);
    } else {
      device_free(send[peer]);
      device_free(recv[peer]);
    }
  }
  CHECK(wrong == 0, "%d wrong in memory of the host and of the device on %d ranks", wrong, size);
}

/* One type of absolute addresses describes `count` ints, which lie in turns in host memory and in allocations of the device of different lengths. */
enum { kPieces = 6 };
typedef struct {
  int *pieces[kPieces], *values[kPieces];
  MPI_Datatype type;
} spread;

static spread spread_out(int count, int on_device) {
  spread it;
  int lengths[kPieces];
  MPI_Aint places[kPieces];
  for (int piece = 0; piece < kPieces; ++piece) {
    const int here = piece % 3 == 1 ? 0 : on_device;
    const size_t bytes = sizeof(int) * (size_t)(count + 4 * piece);
    it.pieces[piece] = here ? device_alloc(bytes, 0) : malloc(bytes);
    it.values[piece] = here ? touchable(it.pieces[piece]) : it.pieces[piece];
    for (int at = 0; at < count + 4 * piece; ++at) it.values[piece][at] = -1;
    lengths[piece] = count / kPieces + (piece == 0 ? count % kPieces : 0);
    places[piece] = (MPI_Aint)(intptr_t)(it.pieces[piece] + piece);
  }
  MPI_OK(MPI_Type_create_hindexed(kPieces, lengths, places, MPI_INT, &it.type));
  MPI_OK(MPI_Type_commit(&it.type));
  return it;
}

static int* int_of(const spread* it, int at, int count) {
  const int first = count / kPieces + count % kPieces, each = count / kPieces;
  const int piece = at < first ? 0 : 1 + (at - first) / each;
  return &it->values[piece][piece + (piece == 0 ? at : (at - first) % each)];
}

static int wrong_around(const spread* it, int count) {
  int wrong = 0;
  for (int piece = 0; piece < kPieces; ++piece) {
    const int length = count / kPieces + (piece == 0 ? count % kPieces : 0);
    for (int at = 0; at < count + 4 * piece; ++at) wrong += (at < piece || at >= piece + length) && it->values[piece][at] != -1;
  }
  return wrong;
}

static void gather_up(spread* it, int on_device) {
  MPI_OK(MPI_Type_free(&it->type));
  for (int piece = 0; piece < kPieces; ++piece) {
    if (piece % 3 == 1 || !on_device) free(it->pieces[piece]);
    else device_free(it->pieces[piece]);
  }
}

/* The data of one type lie in memory of both kinds. Every third call has them in host memory only, and so have odd ranks in every other call. */
static void spread_types(MPI_Comm comm, int call) {
  const int rank = rank_in(comm), size = size_of_comm(comm), count = 60 + call;
  const int on_device = call % 3 != 0 && !(call % 2 != 0 && rank % 2 != 0);
  spread from[kMostRanks], to[kMostRanks];
  int ones[kMostRanks], zeros[kMostRanks], wrong = 0;
  MPI_Datatype out[kMostRanks], in[kMostRanks];
  for (int peer = 0; peer < size; ++peer) {
    from[peer] = spread_out(count, on_device);
    to[peer] = spread_out(count, peer % 4 == 3 ? 0 : on_device);
    for (int at = 0; at < count; ++at) *int_of(&from[peer], at, count) = number(rank, peer, at + call);
    ones[peer] = 1, zeros[peer] = 0, out[peer] = from[peer].type, in[peer] = to[peer].type;
  }
  MPI_Request request;
  if (call % 5 != 4) MPI_OK(MPI_Alltoallw(MPI_BOTTOM, ones, zeros, out, MPI_BOTTOM, ones, zeros, in, comm));
  else {
    MPI_OK(MPI_Ialltoallw(MPI_BOTTOM, ones, zeros, out, MPI_BOTTOM, ones, zeros, in, comm, &request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  for (int peer = 0; peer < size; ++peer) {
    for (int at = 0; at < count; ++at) wrong += *int_of(&to[peer], at, count) != number(peer, rank, at + call);
    wrong += wrong_around(&to[peer], count);
  }
  CHECK(wrong == 0, "%d wrong in types over memory of both kinds on %d ranks", wrong, size);
  int* const all = device_alloc(sizeof(int) * (size_t)(size * count), 0);
  MPI_OK(MPI_Allgather(MPI_BOTTOM, 1, from[0].type, all, count, MPI_INT, comm));
  for (int at = 0; at < size * count; ++at) wrong += ((int*)touchable(all))[at] != number(at / count, 0, at % count + call);
  CHECK(wrong == 0, "%d wrong gathered from memory of both kinds on %d ranks", wrong, size);
  device_free(all);
  for (int peer = 0; peer < size; ++peer) gather_up(&from[peer], on_device), gather_up(&to[peer], peer % 4 == 3 ? 0 : on_device);
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

/* Rank 0 and the others each have one block and one type. No more than that may be read. */
static void between_groups(void) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD), peers = rank == 0 ? size - 1 : 1;
  MPI_Comm half, both;
  MPI_Request request;
  MPI_OK(MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half));
  MPI_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 1, &both));
  int *counts = malloc(sizeof(int) * (size_t)peers), *places = malloc(sizeof(int) * (size_t)peers);
  int *sent = malloc(sizeof(int) * (size_t)peers), *received = calloc((size_t)peers, sizeof(int));
  /* Nothing lies behind the types. */
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)(peers + size));
  memset(types, 0xA5, sizeof(MPI_Datatype) * (size_t)(peers + size));
  for (int i = 0; i < peers; ++i) {
    counts[i] = 1;
    places[i] = (int)sizeof(int) * i;
    sent[i] = number(rank, rank == 0 ? i + 1 : 0, 0);
    types[i] = MPI_INT;
  }
  MPI_OK(MPI_Ialltoallw(sent, counts, places, types, received, counts, places, types, both, &request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < peers; ++i) CHECK(received[i] == number(rank == 0 ? i + 1 : 0, rank, 0), "between groups: %d", received[i]);
  MPI_OK(MPI_Comm_free(&both));
  MPI_OK(MPI_Comm_free(&half));
  free(counts), free(places), free(sent), free(received), free(types);
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
      /* These are errors when they are left to the MPI library, as calls of one rank are: a copy would keep the distance (copies_far.c). */
      if (argc > 2 && which == 1) scattered(comms[which], call);
      if (argc > 2 && which == 1) spread_types(comms[which], call);
    }
  }
  if (size_of_comm(MPI_COMM_WORLD) > 1) between_groups();
  const int result = verdict();
  MPI_Finalize();
  return result;
}
