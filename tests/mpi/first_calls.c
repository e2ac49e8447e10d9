/* The first calls on a communicator may or may not open it:
 *
 *   first_calls repeated   one rank makes a call with a wrong argument, is told so, and makes it rightly; the others call once
 *   first_calls ahead      a rank that waits for nobody in its call sends the message that another rank awaits before its own
 *   first_calls freed      as ahead, with nonblocking calls; then the communicator is freed */
#include "check.h"

static int errors_told;

static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++errors_told;
}

typedef enum { alltoall, ialltoall, allreduce, kWays } Way;
typedef enum { negative, uncommitted, kWrongs } Wrong;

/* Returns MPI's code. */
static int call(Way way, int count, MPI_Datatype type, const int* send, int* recv, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (way == alltoall) return MPI_Alltoall(send, count, type, recv, count, type, comm);
  if (way == allreduce) return MPI_Allreduce(send, recv, count, type, MPI_SUM, comm);
  const int code = MPI_Ialltoall(send, count, type, recv, count, type, comm, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

static void repeat(Way way, Wrong wrong, int at, int of) {
  enum { kCalls = 12, kMost = 16 };
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  int send[kMost], recv[kMost];
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Datatype pair;
  MPI_OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_OK(MPI_Comm_create_errhandler(count_error, &handler));
  MPI_OK(MPI_Comm_set_errhandler(comm, handler));
  errors_told = 0;
  for (int i = 0; i < kCalls; ++i) {
    for (int to = 0; to < size; ++to) send[to] = number(rank, way == allreduce ? 0 : to, i);
    memset(recv, 0xee, sizeof recv);
    if (i == at && rank == of) {
      const int code = call(way, wrong == negative ? -1 : 1, wrong == uncommitted ? pair : MPI_INT, send, recv, comm);
      CHECK(code != MPI_SUCCESS, "a wrong argument in call %d was not refused", i);
    }
    MPI_OK(call(way, 1, MPI_INT, send, recv, comm));
    int expected = 0;
    for (int from = 0; from < size; ++from) {
      expected += number(from, 0, i);
      if (way != allreduce) CHECK(recv[from] == number(from, rank, i), "way %d, call %d: %d from rank %d", way, i, recv[from], from);
    }
    if (way == allreduce) CHECK(recv[0] == expected, "call %d: %d, not %d", i, recv[0], expected);
  }
  CHECK(errors_told == (rank == of), "the error handler was called %d times", errors_told);
  MPI_OK(MPI_Comm_free(&comm));
  MPI_OK(MPI_Errhandler_free(&handler));
  MPI_OK(MPI_Type_free(&pair));
}

static void repeated(void) {
  static const int kAt[] = {0, 1, 2, 4, 8};
  for (int way = 0; way < kWays; ++way) {
    for (int wrong = 0; wrong < kWrongs; ++wrong) {
#ifdef MPICH_VERSION
      if (way == allreduce && wrong == negative) continue; /* MPICH 4.0 crashes. */
#endif
      for (size_t i = 0; i < sizeof kAt / sizeof kAt[0]; ++i) repeat((Way)way, (Wrong)wrong, kAt[i], i % 2 == 0 ? 0 : 1);
    }
  }
}

/* Rank 0's exchange comes before rank 1's. */
static void exchange_in_turn(MPI_Comm comm, int which) {
  const int rank = rank_in(comm), root = 0;
  int value = rank == root ? 7 : -1, sum = 0, nothing[1] = {0};
  if (rank == 1) MPI_OK(MPI_Recv(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (which == 0) MPI_OK(MPI_Bcast(&value, 1, MPI_INT, root, comm));
  if (which == 1) MPI_OK(MPI_Alltoall(nothing, 0, MPI_INT, nothing, 0, MPI_INT, comm));
  if (which == 2) MPI_OK(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 1, comm));
  if (rank == 0) MPI_OK(MPI_Send(NULL, 0, MPI_INT, 1, 5, MPI_COMM_WORLD));
  if (which == 0) CHECK(value == 7, "%d by MPI_Bcast", value);
}

/* Nonblocking calls come before, on a communicator of two ranks. */
static void ahead(void) {
  for (int which = 0; which < 3; ++which) {
    for (int before = 0; before < 4; ++before) {
      if (which == 1 && before > 0) continue; /* Once it is open, a first call of any size plans. */
      MPI_Comm comm;
      MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
      for (int i = 0; i < before; ++i) {
        int send[2] = {i, i}, recv[2];
        MPI_OK(call(ialltoall, 1, MPI_INT, send, recv, comm));
      }
      exchange_in_turn(comm, which);
      MPI_OK(checked_alltoall(comm, 3, which));
      MPI_OK(MPI_Comm_free(&comm));
    }
  }
}

/* Nonblocking calls wait for nobody, however many there are before the others come. Rank 0 comes when rank 1 has made them all. */
static void freed(void) {
  enum { kMost = 40 };
  static int send[kMost][2], recv[kMost][2];
  const int rank = rank_in(MPI_COMM_WORLD);
  for (int calls = 1; calls <= kMost; calls *= 2) {
    MPI_Comm comm;
    MPI_Request requests[kMost];
    MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (rank == 0) MPI_OK(MPI_Recv(NULL, 0, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < calls; ++i) {
      send[i][0] = number(rank, 0, i), send[i][1] = number(rank, 1, i);
      MPI_OK(MPI_Ialltoall(send[i], 1, MPI_INT, recv[i], 1, MPI_INT, comm, &requests[i]));
    }
    if (rank == 1) MPI_OK(MPI_Send(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD));
    MPI_OK(MPI_Waitall(calls, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < calls; ++i) {
      CHECK(recv[i][0] == number(0, rank, i) && recv[i][1] == number(1, rank, i), "call %d of %d", i, calls);
    }
    MPI_OK(MPI_Comm_free(&comm));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "repeated") == 0) repeated();
  if (argc > 1 && strcmp(argv[1], "ahead") == 0) ahead();
  if (argc > 1 && strcmp(argv[1], "freed") == 0) freed();
  MPI_Finalize();
  return verdict();
}
