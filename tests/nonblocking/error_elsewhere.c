/* One rank has no memory for what it packs in a nonblocking call. The others, which wait for its messages inside the MPI library, hear of it there.
 *
 *   error_elsewhere wait|waitany|test */
#include "check.h"
#include "deadline.h"
#include "from_crossrail.h"

enum { kSeconds = 30, kInts = 300000, kLarge = kInts * (int)sizeof(int) / 2 };

static int failing, failed;

void* malloc(size_t bytes) {
  if (!failing || bytes < kLarge) return __libc_malloc(bytes);
  failing = 0;
  const int ours = from_crossrail(__builtin_return_address(0));
  failed |= ours;
  failing = !ours;
  return ours ? NULL : __libc_malloc(bytes);
}

static int complete(const char* how, MPI_Request* request) {
  int index = 0, done = 0, code = MPI_SUCCESS;
  if (strcmp(how, "wait") == 0) return MPI_Wait(request, MPI_STATUS_IGNORE);
  if (strcmp(how, "waitany") == 0) return MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
  while (!done && code == MPI_SUCCESS) code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
  return code;
}

int main(int argc, char** argv) {
  int level = 0, rank = 0, size = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* const out = calloc((size_t)(2 * size * kInts), sizeof(int));
  int* const in = calloc((size_t)(2 * size * kInts), sizeof(int));
  MPI_Datatype gaps;
  MPI_Type_vector(kInts, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  begin_case(kSeconds, "an alltoall that opens the communicator");
  MPI_OK(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD));
  begin_case(kSeconds, "memory that one rank does not get");
  failing = rank == size - 1;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Ialltoall(out, 1, gaps, in, 1, gaps, MPI_COMM_WORLD, &request);
  if (code == MPI_SUCCESS) code = complete(argc > 1 ? argv[1] : "wait", &request);
  failing = 0;
  CHECK(code != MPI_SUCCESS, "rank %d has heard of no error", rank);
  CHECK(failed || rank != size - 1, "no memory was asked for");
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Type_free(&gaps);
  MPI_Finalize();
  return result;
}
