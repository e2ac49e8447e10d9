/* With CROSSRAIL_REPRODUCIBLE every reduction, from the first call on, has the bits of ((r0 op r1) op r2) op ..., and the same ones wherever the
 * ranks are. The program prints a hash of all results, which is the same for all runs of as many ranks.
 *
 *   reproducible             blocking calls of all sizes
 *   reproducible pending     nonblocking ones, too
 *   reproducible persistent  and persistent ones
 *   reproducible own         an operation of the program's own, which is not covered and is right all the same */
#include "check.h"
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>

enum { kMost = 70001 };
static double send[kMost], recv[kMost], expected[kMost];
static uint64_t hash = 1469598103934665603u;

static uint64_t mixed(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

/* Values have sizes far apart and either sign. Sums cancel, and every other order rounds to other bits. */
static double value(int rank, int place, int call) {
  const uint64_t word = mixed(((uint64_t)rank << 40) + ((uint64_t)call << 20) + (uint64_t)place);
  return ldexp(1 + (double)(word >> 12) * 0x1p-52, (int)(word >> 1 & 15)) * (word & 1 ? 1 : -1);
}

static void note_bits(const double* results, int count) {
  uint64_t bits = 0;
  for (int i = 0; i < count; ++i) {
    memcpy(&bits, &results[i], sizeof bits);
    hash = (hash ^ bits) * 1099511628211u;
  }
}

static void fill(int count, int call, int rank) {
  for (int i = 0; i < count; ++i) send[i] = value(rank, i, call);
}

/* Checks `count` elements from `first` on. Every order but that of the ranks would miss their bits. */
static void fold(int first, int count, int call, MPI_Op op, int size) {
  for (int i = 0; i < count; ++i) {
    expected[i] = value(0, first + i, call);
    for (int rank = 1; rank < size; ++rank) expected[i] = op == MPI_SUM ? expected[i] + value(rank, first + i, call) : expected[i] * value(rank, first + i, call);
  }
}

static void expect_fold(int first, int count, int call, MPI_Op op, const char* what) {
  int size = size_of_comm(MPI_COMM_WORLD);
  fold(first, count, call, op, size);
  CHECK(memcmp(recv, expected, (size_t)count * sizeof *recv) == 0, "%s of %d in call %d has other bits", what, count, call);
  note_bits(recv, count);
  memset(recv, 0xEE, sizeof recv);
}

static void blocking(void) {
  const int counts[] = {1, 2, 3, 7, 15, 100, 129, 1000, 5000, 70001};
  int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  for (int call = 0; call < 40; ++call) {
    const int count = counts[call % 10];
    MPI_Op op = call % 20 < 10 ? MPI_SUM : MPI_PROD;
    fill(count, call, rank);
    memcpy(recv, send, sizeof recv);
    MPI_OK(MPI_Allreduce(call % 3 == 0 ? MPI_IN_PLACE : send, recv, count, MPI_DOUBLE, op, MPI_COMM_WORLD));
    expect_fold(0, count, call, op, "allreduce");
    const int block = count / size;
    fill(block * size, call, rank);
    memcpy(recv, send, sizeof recv);
    MPI_OK(MPI_Reduce_scatter_block(call % 3 == 1 ? MPI_IN_PLACE : send, recv, block, MPI_DOUBLE, op, MPI_COMM_WORLD));
    expect_fold(rank * block, block, call, op, "reduce_scatter_block");
  }
}

/* Two numbers are a complex one. */
static void complex_sums(void) {
  fill(500, 77, rank_in(MPI_COMM_WORLD));
  MPI_OK(MPI_Allreduce(send, recv, 250, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD));
  expect_fold(0, 500, 77, MPI_SUM, "complex allreduce");
}

/* The communicator is open by now. */
static void nonblocking(void) {
  MPI_Request request;
  for (int call = 100; call < 120; ++call) {
    const int count = call % 2 == 0 ? 50 : 3000;
    fill(count, call, rank_in(MPI_COMM_WORLD));
    MPI_OK(MPI_Iallreduce(send, recv, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_fold(0, count, call, MPI_SUM, "iallreduce");
  }
}

/* MPI_Allreduce_init is in MPI 4. */
static void persistent(void) {
  int (*init)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*) = NULL;
  *(void**)&init = dlsym(RTLD_DEFAULT, "MPI_Allreduce_init");
  if (init == NULL) return;
  MPI_Request request;
  MPI_OK(init(send, recv, 200, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  for (int call = 200; call < 205; ++call) {
    fill(200, call, rank_in(MPI_COMM_WORLD));
    MPI_OK(MPI_Start(&request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_fold(0, 200, call, MPI_SUM, "persistent allreduce");
  }
  MPI_OK(MPI_Request_free(&request));
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((const int*)in)[i];
}

static void own_operation(void) {
  MPI_Op op;
  int one = 1, sum = 0;
  MPI_OK(MPI_Op_create(add, 1, &op));
  for (int call = 0; call < 20; ++call) {
    MPI_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
    CHECK(sum == size_of_comm(MPI_COMM_WORLD), "%d", sum);
  }
  MPI_OK(MPI_Op_free(&op));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int lasting = argc > 1 && strcmp(argv[1], "persistent") == 0;
  int pending = lasting || (argc > 1 && strcmp(argv[1], "pending") == 0);
  if (argc > 1 && !pending) {
    own_operation();
  } else {
    blocking();
    complex_sums();
    if (pending) nonblocking();
    if (lasting) persistent();
    uint64_t all = 0;
    MPI_OK(MPI_Allreduce(&hash, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD));
    if (rank_in(MPI_COMM_WORLD) == 0) printf("bits of all results: %016llx\n", (unsigned long long)all);
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
