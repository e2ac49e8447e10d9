/* The program starts other programs while its device memory is in use, between calls and while nonblocking ones are under way. The device is made of
 * host memory (HOST_DEVICE is the path of its driver). Children only end, or become another program.
 *
 *   device_children [ROUNDS] */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "device_memory_of_tests.h"

enum { kAtOnce = 4, kMost = 40000 };

static void have_child(int ends_at_once) {
  static char* const arguments[] = {"true", NULL};
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    if (!ends_at_once) execv("/bin/true", arguments);
    _exit(ends_at_once ? 0 : 1);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child's status is %d", status);
}

struct exchange {
  int* send;
  int* recv; /* It lies in device memory. */
  int count, salt, reduces;
};

static size_t bytes_of_side(const struct exchange* one) { return sizeof(int) * (size_t)(one->count * size_of_comm(MPI_COMM_WORLD) + 1); }

static struct exchange make(int salt) {
  struct exchange made = {NULL, NULL, salt % 3 == 0 ? kMost : 1 + salt * 37 % 500, salt, salt % 2};
  made.send = device_alloc(bytes_of_side(&made), 0);
  made.recv = device_alloc(bytes_of_side(&made), 0);
  int* const from = touchable(made.send);
  for (int at = 0; at < made.count * size_of_comm(MPI_COMM_WORLD); ++at) from[at] = number(rank_in(MPI_COMM_WORLD), at / made.count, at % made.count + salt);
  memset(touchable(made.recv), 0xA5, bytes_of_side(&made));
  return made;
}

static int expected(const struct exchange* one, int at) {
  const int size = size_of_comm(MPI_COMM_WORLD), block = at / one->count, place = at % one->count + one->salt;
  if (!one->reduces) return number(block, rank_in(MPI_COMM_WORLD), place);
  int sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += number(rank, block, place);
  return sum;
}

static void check_and_drop(struct exchange* one, const char* where) {
  const int ints = one->count * size_of_comm(MPI_COMM_WORLD);
  const int* const got = touchable(one->recv);
  int wrong = got[ints] != (int)0xA5A5A5A5;
  for (int at = 0; at < ints; ++at) wrong += got[at] != expected(one, at);
  CHECK(wrong == 0, "%s: %d of %d ints are wrong%s", where, wrong, ints, one->reduces ? ", sums" : "");
  device_free(one->send);
  device_free(one->recv);
}

static void begin(struct exchange* one, MPI_Request* request) {
  const int ints = one->count * size_of_comm(MPI_COMM_WORLD);
  if (one->reduces) MPI_OK(MPI_Iallreduce(one->send, one->recv, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request));
  else MPI_OK(MPI_Ialltoall(one->send, one->count, MPI_INT, one->recv, one->count, MPI_INT, MPI_COMM_WORLD, request));
}

static void call(struct exchange* one) {
  const int ints = one->count * size_of_comm(MPI_COMM_WORLD);
  if (one->reduces) MPI_OK(MPI_Allreduce(one->send, one->recv, ints, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  else MPI_OK(MPI_Alltoall(one->send, one->count, MPI_INT, one->recv, one->count, MPI_INT, MPI_COMM_WORLD));
}

/* Each rank starts its children at other places than the others do, so that ranks sometimes wait for it meanwhile. */
static int has_child_now(int at) { return (at + rank_in(MPI_COMM_WORLD)) % 3 == 0; }

static void one_round(int round) {
  struct exchange blocking = make(round), pending[kAtOnce];
  MPI_Request requests[kAtOnce];
  if (has_child_now(round)) have_child(round % 2);
  call(&blocking);
  if (has_child_now(round + 1)) have_child(round % 2);
  check_and_drop(&blocking, "between calls");
  for (int one = 0; one < kAtOnce; ++one) {
    pending[one] = make(round * kAtOnce + one);
    begin(&pending[one], &requests[one]);
    if (has_child_now(round + one)) have_child(one % 2);
  }
  MPI_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  if (has_child_now(round + kAtOnce)) have_child(round % 2);
  MPI_OK(MPI_Waitall(kAtOnce - 1, requests + 1, MPI_STATUSES_IGNORE));
  for (int one = 0; one < kAtOnce; ++one) check_and_drop(&pending[one], "during nonblocking calls");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  open_driver();
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 1));
  const int rounds = argc > 1 ? atoi(argv[1]) : 30;
  for (int round = 0; round < rounds; ++round) one_round(round);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
