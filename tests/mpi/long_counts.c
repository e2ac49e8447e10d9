/* The program makes calls of more than 2^31 elements, and of more than 2 GiB a rank. It runs on 2 ranks, which need 10 GiB together. The bytes repeat
 * themselves after a number that does not divide 2^31, so that those from another place are others. */
#include "check.h"

enum { kPeriod = 1000003 };
static const MPI_Count kMany = ((MPI_Count)1 << 31) + 123457;

static signed char pattern[2][2 * kPeriod]; /* It is each rank's, twice in a row. */

static void make_patterns(void) {
  for (int rank = 0; rank < 2; ++rank) {
    for (int at = 0; at < 2 * kPeriod; ++at) pattern[rank][at] = (signed char)(((unsigned)(at % kPeriod) * 2654435761u >> 24) % 50 + (unsigned)rank);
  }
}

/* Writes the `many` bytes that begin at place `first` of what a rank has. */
static void fill(signed char* to, int rank, MPI_Count first, MPI_Count many) {
  for (MPI_Count done = 0; done < many; done += kPeriod) {
    memcpy(to + done, pattern[rank] + first % kPeriod, (size_t)(many - done < kPeriod ? many - done : kPeriod));
  }
}

static void check(const signed char* got, const signed char* expected, MPI_Count many, const char* what) {
  MPI_Count wrong = 0;
  for (MPI_Count done = 0; done < many; done += kPeriod) {
    wrong += memcmp(got + done, expected, (size_t)(many - done < kPeriod ? many - done : kPeriod)) != 0;
  }
  CHECK(wrong == 0, "%s: wrong in %lld of %lld places", what, (long long)wrong, (long long)(many / kPeriod + 1));
}

static void reduce(signed char* send, signed char* recv, int in_place) {
  static signed char sums[2 * kPeriod];
  for (int at = 0; at < 2 * kPeriod; ++at) sums[at] = (signed char)(pattern[0][at] + pattern[1][at]);
  fill(in_place ? recv : send, rank_in(MPI_COMM_WORLD), 0, kMany);
  recv[kMany] = 77;
  MPI_OK(MPI_Allreduce_c(in_place ? MPI_IN_PLACE : send, recv, kMany, MPI_INT8_T, MPI_SUM, MPI_COMM_WORLD));
  check(recv, sums, kMany, in_place ? "MPI_Allreduce_c in place" : "MPI_Allreduce_c");
  CHECK(recv[kMany] == 77, "MPI_Allreduce_c wrote behind the end");
}

/* Exchanges two blocks, of more than 2 GiB together. */
static void exchange(signed char* send, signed char* recv) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const MPI_Count block = kMany / 2;
  fill(send, rank, 0, 2 * block);
  memset(recv, 77, (size_t)(2 * block) + 1);
  MPI_OK(MPI_Alltoall_c(send, block, MPI_INT8_T, recv, block, MPI_INT8_T, MPI_COMM_WORLD));
  for (int from = 0; from < 2; ++from) check(recv + from * block, pattern[from] + rank * block % kPeriod, block, "MPI_Alltoall_c");
  CHECK(recv[2 * block] == 77, "MPI_Alltoall_c wrote behind the end");
}

static void gather(const signed char* send, signed char* recv) {
  const MPI_Count block = kMany / 2;
  memset(recv, 77, (size_t)(2 * block) + 1);
  MPI_OK(MPI_Allgather_c(send, block, MPI_INT8_T, recv, block, MPI_INT8_T, MPI_COMM_WORLD));
  for (int from = 0; from < 2; ++from) check(recv + from * block, pattern[from], block, "MPI_Allgather_c");
  CHECK(recv[2 * block] == 77, "MPI_Allgather_c wrote behind the end");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  make_patterns();
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 1)); /* It opens the communicator: MPI_Allreduce alone does so in its ninth call. */
  signed char* const send = malloc((size_t)kMany + 1);
  signed char* const recv = malloc((size_t)kMany + 1);
  CHECK(send != NULL && recv != NULL, "no memory");
  if (failed_checks == 0) {
    reduce(send, recv, 0);
    reduce(send, recv, 1);
    exchange(send, recv);
    gather(send, recv);
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
