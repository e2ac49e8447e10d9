/* MPI_Alltoallw moves blocks whose gaps are equal on both sides but not the same, in device memory (device_memory_of_tests.h), always in the same
 * buffers, from where they lie to where they belong. Calls are blocking, nonblocking and persistent. Blocks have elements of one run and of several,
 * no elements, and some of short runs.
 *
 *   device_straight [CALLS] */
#include "check.h"
#include "device_memory_of_tests.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

enum { kMostRanks = 8, kUnit = 96, kMostUnits = 4, kRoom = 8 * kUnit * kMostUnits };

/* A block is `runs` runs of `length` ints, `stride` ints apart, `first` ints behind the beginning of its room. */
typedef struct {
  int runs, length, stride, first;
  MPI_Datatype type;
  int count;
} Block;

static unsigned long long mixed(int a, int b, int c, int d) {
  unsigned long long word = 0x9E3779B97F4A7C15ull * (unsigned long long)(((a * 31 + b) * 31 + c) * 31 + d + 1);
  word ^= word >> 29;
  word *= 0xBF58476D1CE4E5B9ull;
  return word ^ word >> 32;
}

/* All ranks know how long it is. Its owner alone knows how it lies. */
static Block block_of(int call, int sender, int receiver, int received) {
  static const int lengths[] = {8, 12, 16, 24, 32, 48, 96, 8, 12, 4};
  const int units = (int)(mixed(call / 3, sender, receiver, 7) % (kMostUnits + 1));
  const unsigned long long how = mixed(call / 2, sender, receiver, 100 + received);
  Block block = {0, lengths[how % 10], 0, (int)((how >> 8) % 5), MPI_DATATYPE_NULL, 0};
  block.runs = kUnit * units / block.length;
  block.stride = block.length + 1 + (int)((how >> 16) % 4);
  MPI_Datatype one;
  if ((how >> 24) % 2 == 0) { /* The block is one element. */
    MPI_OK(MPI_Type_vector(block.runs, block.length, block.stride, MPI_INT, &block.type));
    block.count = 1;
  } else { /* Each run is an element. */
    MPI_OK(MPI_Type_contiguous(block.length, MPI_INT, &one));
    MPI_OK(MPI_Type_create_resized(one, 0, (MPI_Aint)sizeof(int) * block.stride, &block.type));
    MPI_OK(MPI_Type_free(&one));
    block.count = block.runs;
  }
  MPI_OK(MPI_Type_commit(&block.type));
  return block;
}

static int value(int call, int sender, int receiver, int at) { return (int)(mixed(call, sender, receiver, at) & 0x7FFFFFFF); }

/* Visits every int of a block in the order of the data: `place` is in its room, `at` is in the block. */
#define EACH_INT(block, place, at)                                                                     \
  for (int run_ = 0, at = 0; run_ < (block).runs; ++run_)                                              \
    for (int in_ = 0, place = (block).first + run_ * (block).stride; in_ < (block).length; ++in_, ++place, ++at)

static void exchange(const void* from, void* to, int (*numbers)[kMostRanks], MPI_Datatype (*types)[kMostRanks], int how) {
  MPI_Request request = MPI_REQUEST_NULL;
  int *sent = numbers[0], *sent_at = numbers[1], *received = numbers[2], *received_at = numbers[3];
  if (how == 1) {
    MPI_OK(MPI_Ialltoallw(from, sent, sent_at, types[0], to, received, received_at, types[1], MPI_COMM_WORLD, &request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
  } else if (how == 2) {
    MPI_OK(MPIX_Alltoallw_init(from, sent, sent_at, types[0], to, received, received_at, types[1], MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    MPI_OK(MPI_Start(&request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_OK(MPI_Request_free(&request));
#endif
  } else {
    MPI_OK(MPI_Alltoallw(from, sent, sent_at, types[0], to, received, received_at, types[1], MPI_COMM_WORLD));
  }
}

static void run(int call, int* send, int* recv) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  int *const sent = touchable(send), *const got = touchable(recv), numbers[4][kMostRanks];
  int* const right = malloc(sizeof(int) * kRoom * (size_t)size);
  MPI_Datatype types[2][kMostRanks];
  for (int at = 0; at < kRoom * size; ++at) sent[at] = got[at] = right[at] = -1;
  for (int peer = 0; peer < size; ++peer) {
    const Block out = block_of(call, rank, peer, 0), in = block_of(call, peer, rank, 1);
    EACH_INT(out, place, at) sent[peer * kRoom + place] = value(call, rank, peer, at);
    EACH_INT(in, place, at) right[peer * kRoom + place] = value(call, peer, rank, at);
    numbers[0][peer] = out.count, numbers[2][peer] = in.count;
    numbers[1][peer] = (int)sizeof(int) * (peer * kRoom + out.first), numbers[3][peer] = (int)sizeof(int) * (peer * kRoom + in.first);
    types[0][peer] = out.type, types[1][peer] = in.type;
  }
  exchange(send, recv, numbers, types, call % 3);
  int wrong = 0;
  for (int at = 0; at < kRoom * size; ++at) wrong += got[at] != right[at];
  CHECK(wrong == 0, "call %d: %d wrong", call, wrong);
  for (int peer = 0; peer < size; ++peer) {
    for (int side = 0; side < 2; ++side) MPI_OK(MPI_Type_free(&types[side][peer]));
  }
  free(right);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 60;
  open_driver();
  const size_t bytes = sizeof(int) * kRoom * (size_t)size_of_comm(MPI_COMM_WORLD);
  int *const send = device_alloc(bytes, 0), *const recv = device_alloc(bytes, 0);
  for (int call = 1; call <= calls; ++call) run(call, send, recv);
  device_free(send);
  device_free(recv);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
