/* Calls that crossrail carries slowly are given back to the MPI library. Copies between processes sleep here, as on a machine of which the tuning
 * table knows nothing.
 *
 *   guard given_back | kept INTS_A_BLOCK     kept: CROSSRAIL_GUARD=0, which looks at nothing */
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int slow = 0;

/* The library calls this function, because programs come first when symbols are looked up. */
ssize_t process_vm_readv(pid_t pid, const struct iovec* to, unsigned long to_count, const struct iovec* from, unsigned long from_count,
                         unsigned long flags) {
  if (slow) usleep(20000);
  return syscall(SYS_process_vm_readv, pid, to, to_count, from, from_count, flags);
}

static const char* (*last_algorithm)(void);

/* The answer is the same on all ranks. */
static int was_native(void) {
  const int mine = strcmp(last_algorithm(), "native") == 0;
  int all = 0, some = 0;
  MPI_OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  MPI_OK(MPI_Allreduce(&mine, &some, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
  CHECK(all == some, "ranks went different ways");
  return all;
}

static int checked_alltoallv(int count, int salt) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  int* send = malloc(sizeof(int) * (size_t)(size * count));
  int* recv = calloc((size_t)(size * count), sizeof(int));
  int* counts = malloc(sizeof(int) * (size_t)size);
  int* starts = malloc(sizeof(int) * (size_t)size);
  for (int to = 0; to < size; ++to) {
    counts[to] = count;
    starts[to] = to * count;
    for (int i = 0; i < count; ++i) send[to * count + i] = number(rank, to, i + salt);
  }
  const int code = MPI_Alltoallv(send, counts, starts, MPI_INT, recv, counts, starts, MPI_INT, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < size * count; ++i) wrong += recv[i] != number(i / count, rank, i % count + salt);
  CHECK(wrong == 0, "%d wrong elements of MPI_Alltoallv", wrong);
  free(send);
  free(recv);
  free(counts);
  free(starts);
  return code;
}

/* Makes calls until so many in a row were native, and returns -1 if they never were. */
static int calls_until_native(int count, int most) {
  int in_a_row = 0;
  for (int call = 0; call < most; ++call) {
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, count, call));
    in_a_row = was_native() ? in_a_row + 1 : 0;
    if (in_a_row == 8) return call;
  }
  return -1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int given_back = argc > 1 && strcmp(argv[1], "given_back") == 0;
  const int count = argc > 2 ? atoi(argv[2]) : 512;
  last_algorithm = (const char* (*)(void))dlsym(RTLD_DEFAULT, "crossrail_last_algorithm");
  CHECK(last_algorithm != NULL, "crossrail is not loaded");
  if (last_algorithm == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  slow = 1;
  const int most = given_back ? 2000 : 60; /* A loaded machine may need several windows. */
  const int uniform = calls_until_native(count, most);
  CHECK((uniform >= 0) == given_back, "MPI_Alltoall: given back at call %d", uniform);
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 4 * count, 1)); /* This is another length, which is not judged yet. */
  CHECK(!was_native(), "a length that was not compared has gone native");
  slow = 0;
  for (int call = 0; call < 50; ++call) {
    MPI_OK(checked_alltoallv(count + call, call));
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, count + call, call));
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
