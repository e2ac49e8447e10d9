/* The program makes communicators and persistent requests for a few calls each. It checks the results, and rank 0 prints how long such a round takes
 * ("short_lived ..."); bench/results/other has the times with and without crossrail.
 *
 *   short_lived ROUNDS [BYTES] */
#include "check.h"
#include "../nonblocking/persistent.h"

static double seconds_of(int rounds, void (*round)(int calls, int salt), int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) round(calls, i);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - began;
}

static int block = 2; /* The block has so many ints. */

static void communicator(int calls, int salt) {
  MPI_Comm comm;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int i = 0; i < calls; ++i) MPI_OK(checked_alltoall(comm, block, salt + i));
  MPI_OK(MPI_Comm_free(&comm));
}

#if HAVE_PERSISTENT
static void fill(int* send, int count, int salt) {
  for (int to = 0; to < size_of_comm(MPI_COMM_WORLD); ++to) {
    for (int i = 0; i < count; ++i) send[to * count + i] = number(rank_in(MPI_COMM_WORLD), to, i + salt);
  }
}

/* The length differs each time and, every few rounds, several requests are there at once, so that others use what is kept of them. */
static void request(int calls, int salt) {
  enum { kMost = 10 };
  const int size = size_of_comm(MPI_COMM_WORLD), count = block + salt % 3, wanted = salt % 7 == 0 ? 1 + salt % (kMost + 1) : 1;
  const int at_once = wanted < kMost ? wanted : kMost; /* The compiler can see the limit, too. */
  int *send[kMost], *recv[kMost];
  MPI_Request requests[kMost];
  for (int one = 0; one < at_once; ++one) {
    send[one] = malloc(sizeof(int) * (size_t)(size * count));
    recv[one] = malloc(sizeof(int) * (size_t)(size * count));
    MPI_OK(MPI_Alltoall_init(send[one], count, MPI_INT, recv[one], count, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[one]));
  }
  for (int call = 0; call < calls; ++call) {
    for (int one = 0; one < at_once; ++one) {
      fill(send[one], count, salt + call + one);
      memset(recv[one], 0xee, sizeof(int) * (size_t)(size * count));
    }
    for (int one = at_once - 1; one >= 0; --one) MPI_OK(MPI_Start(&requests[one]));
    MPI_OK(MPI_Waitall(at_once, requests, MPI_STATUSES_IGNORE));
    int wrong = 0;
    for (int one = 0; one < at_once; ++one) {
      for (int i = 0; i < size * count; ++i) wrong += recv[one][i] != number(i / count, rank_in(MPI_COMM_WORLD), i % count + salt + call + one);
    }
    CHECK(wrong == 0, "%d wrong elements in round %d", wrong, salt);
  }
  /* The ranks free them in different orders. */
  for (int one = 0; one < at_once; ++one) MPI_OK(MPI_Request_free(&requests[(one + rank_in(MPI_COMM_WORLD)) % at_once]));
  for (int one = 0; one < at_once; ++one) {
    free(send[one]);
    free(recv[one]);
  }
}
#endif

static void print(const char* what, int calls, double seconds, int rounds) {
  if (rank_in(MPI_COMM_WORLD) == 0) printf("short_lived %-12s of %3d calls: %8.1f us\n", what, calls, seconds / rounds * 1e6);
}

int main(int argc, char** argv) {
  static const int kCalls[] = {1, 2, 4, 8, 9, 16, 32, 100};
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  if (argc > 2) block = (atoi(argv[2]) + 3) / 4;
  (void)seconds_of(rounds / 10 + 1, communicator, 1);
  for (size_t i = 0; i < sizeof kCalls / sizeof kCalls[0]; ++i) {
    print("communicator", kCalls[i], seconds_of(rounds, communicator, kCalls[i]), rounds);
#if HAVE_PERSISTENT
    print("request", kCalls[i], seconds_of(rounds, request, kCalls[i]), rounds);
#endif
  }
  MPI_Finalize();
  return verdict();
}
