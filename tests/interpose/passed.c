/* Every form of every collective is carried or handed to MPI untouched. The results must be right, and counted. */
#include "check.h"

enum { kCount = 3, kMost = 64 };

static int rank, size;
static int send[kMost * kCount], recv[kMost * kCount], counts[kMost], places[kMost], byte_places[kMost];
static MPI_Datatype types[kMost];

static void fill(void) {
  for (int to = 0; to < size; ++to) {
    counts[to] = kCount;
    places[to] = to * kCount;
    byte_places[to] = places[to] * (int)sizeof(int);
    types[to] = MPI_INT;
    for (int i = 0; i < kCount; ++i) send[to * kCount + i] = number(rank, to, i);
  }
  memset(recv, 0xee, sizeof recv);
}

static void check_exchanged(const char* name) {
  int wrong = 0;
  for (int from = 0; from < size; ++from) {
    for (int i = 0; i < kCount; ++i) wrong += recv[from * kCount + i] != number(from, rank, i);
  }
  CHECK(wrong == 0, "%s: %d wrong", name, wrong);
  fill();
}

static void check_sum(const char* name) {
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) {
    int sum = 0;
    for (int from = 0; from < size; ++from) sum += number(from, 0, i);
    wrong += recv[i] != sum;
  }
  CHECK(wrong == 0, "%s: %d wrong", name, wrong);
  fill();
}

static void wait_for(MPI_Request* request) { MPI_OK(MPI_Wait(request, MPI_STATUS_IGNORE)); }

static void blocking(MPI_Comm comm) {
  MPI_OK(MPI_Allreduce(send, recv, kCount, MPI_INT, MPI_SUM, comm));
  check_sum("Allreduce");
}

static void nonblocking(MPI_Comm comm) {
  MPI_Request request;
  MPI_OK(MPI_Ialltoall(send, kCount, MPI_INT, recv, kCount, MPI_INT, comm, &request));
  wait_for(&request);
  check_exchanged("Ialltoall");
  MPI_OK(MPI_Ialltoallv(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, comm, &request));
  wait_for(&request);
  check_exchanged("Ialltoallv");
  MPI_OK(MPI_Ialltoallw(send, counts, byte_places, types, recv, counts, byte_places, types, comm, &request));
  wait_for(&request);
  check_exchanged("Ialltoallw");
  MPI_OK(MPI_Iallreduce(send, recv, kCount, MPI_INT, MPI_SUM, comm, &request));
  wait_for(&request);
  check_sum("Iallreduce");
}

static void persistent(MPI_Comm comm) {
#if MPI_VERSION >= 4
  MPI_Request requests[4];
  MPI_OK(MPI_Alltoall_init(send, kCount, MPI_INT, recv, kCount, MPI_INT, comm, MPI_INFO_NULL, &requests[0]));
  MPI_OK(MPI_Alltoallv_init(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, comm, MPI_INFO_NULL,
                            &requests[1]));
  MPI_OK(MPI_Alltoallw_init(send, counts, byte_places, types, recv, counts, byte_places, types, comm, MPI_INFO_NULL,
                            &requests[2]));
  MPI_OK(MPI_Allreduce_init(send, recv, kCount, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[3]));
  for (int i = 0; i < 4; ++i) {
    MPI_OK(MPI_Start(&requests[i]));
    wait_for(&requests[i]);
    if (i < 3) {
      check_exchanged("persistent");
    } else {
      check_sum("Allreduce_init");
    }
    MPI_OK(MPI_Request_free(&requests[i]));
  }
#else
  (void)comm;
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of_comm(MPI_COMM_WORLD);
  fill();
  for (int round = 0; round < 5; ++round) {
    blocking(MPI_COMM_WORLD);
    nonblocking(MPI_COMM_WORLD);
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, 4, round)); /* It comes in between. */
    persistent(MPI_COMM_WORLD);
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
