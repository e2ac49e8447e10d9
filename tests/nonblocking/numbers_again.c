/* Persistent calls over messages come one after the other, so many that their numbers are used again, with ranks that are late both times. What was
 * said of the earlier call must not be taken for the later one. The test is run on two nodes, with a patience of milliseconds. */
#include <unistd.h>

#include "check.h"
#include "persistent.h"

#if HAVE_PERSISTENT

enum { kLateUs = 10000, kVeryLateUs = 300000, kNumbers = 223, kAgain = 5, kLateCall = 6 };

/* Each rank sends a block of an int to every other rank, so that every rank waits for every other. */
static void use_number(int request_number) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  const int first_use = request_number < kAgain, again = request_number >= kNumbers;
  int* out = malloc((size_t)size * sizeof(int));
  int* in = malloc((size_t)size * sizeof(int));
  MPI_Request request;
  MPI_OK(MPI_Alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  for (int call = 0; call <= kLateCall; ++call) {
    for (int peer = 0; peer < size; ++peer) out[peer] = number(rank, peer, call), in[peer] = -1;
    if (first_use && call == kLateCall && rank == 0) usleep(kLateUs);
    if (again && call == 0 && rank != 0) usleep(kVeryLateUs);
    MPI_OK(MPI_Start(&request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int peer = 0; peer < size; ++peer) CHECK(in[peer] == number(peer, rank, call), "request %d: wrong block", request_number);
  }
  MPI_OK(MPI_Request_free(&request));
  free(out), free(in);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 2, 1));
  for (int request = 0; request < kNumbers + kAgain; ++request) use_number(request);
  const int result = verdict();
  MPI_Finalize();
  return result;
}

#else
int main(void) {
  printf("PASS\n");
  return 0;
}
#endif
