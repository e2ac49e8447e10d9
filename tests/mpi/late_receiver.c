/* A rank is late, and another rank only sends to it in MPI_Alltoallv. The sender may be some hundreds of calls ahead, no more, since what it has sent
 * lies in the memory of the late rank's MPI library. The ranks share a machine, and count their calls in a file that they map.
 *
 *   late_receiver FILE [CALLS] */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kMostRanks = 16, kWarm = 4200, kMostAhead = 1000, kPolls = 3000 };

static int send[kMostRanks], recv[kMostRanks], offsets[kMostRanks];

/* Rank 0 sends one int to the last rank, and nobody else sends anything. */
static void call(int number_of_call) {
  const int ranks = size_of_comm(MPI_COMM_WORLD), rank = rank_in(MPI_COMM_WORLD), last = ranks - 1;
  int sent[kMostRanks] = {0}, got[kMostRanks] = {0};
  sent[last] = rank == 0;
  got[0] = rank == last;
  send[0] = number(0, last, number_of_call);
  MPI_OK(MPI_Alltoallv(send, sent, offsets, MPI_INT, recv, got, offsets, MPI_INT, MPI_COMM_WORLD));
  if (rank == last) CHECK(recv[0] == send[0], "wrong in call %d", number_of_call);
}

/* Returns the sender's calls once they have not become more for so many polls. In each poll MPI may take in what has come. */
static int calls_of_sender_at_rest(const volatile int* made) {
  int polls = 0, seen = *made;
  for (; polls < kPolls && seen <= kWarm + 3 * kMostAhead; ++polls) {
    int flag = 0;
    MPI_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    usleep(100);
    if (*made != seen) polls = 0;
    seen = *made;
  }
  return seen;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), last = size_of_comm(MPI_COMM_WORLD) - 1, calls = argc > 2 ? atoi(argv[2]) : 8000;
  const int file = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(int)) != 0) return 1;
  volatile int* const made = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) *made = 0;
  for (int one = 0; one < calls; ++one) {
    if (one == kWarm) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last && one == kWarm) {
      const int ahead = calls_of_sender_at_rest(made) - one;
      CHECK(ahead <= kMostAhead, "rank 0 is %d calls ahead", ahead);
    }
    call(one);
    if (rank == 0) *made = one + 1;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(argv[1]);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
