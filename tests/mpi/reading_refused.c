/* Reading other processes' memory was allowed when the communicator was opened, and is refused later, as to processes that have given up their rights
 * since. Blocks then come another way.
 *
 *   reading_refused all | one | now_and_then     to all ranks; to rank 1; on every rank, each third time, and in the middle of blocks */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

enum { kLong = 70001, kLonger = 300007 }; /* They are the ints of a block. */

static int refuses = 0, now_and_then = 0;
static long asked = 0, refused = 0;

/* The library calls this function, because programs come first when symbols are looked up. A process may always read its own memory. */
ssize_t process_vm_readv(pid_t pid, const struct iovec* to, unsigned long to_count, const struct iovec* from, unsigned long from_count,
                         unsigned long flags) {
  if (refuses && pid != getpid()) {
    const long turn = __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
    if (!now_and_then || turn % 3 == 0) {
      __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
      errno = EPERM;
      return -1;
    }
    if (turn % 3 == 1 && to_count == 1 && to[0].iov_len > 5000) { /* It reads less than asked for; the rest follows in the next turns. */
      const struct iovec some = {to[0].iov_base, 5000}, there = {from[0].iov_base, 5000};
      return syscall(SYS_process_vm_readv, pid, &some, 1, &there, 1, flags);
    }
  }
  return syscall(SYS_process_vm_readv, pid, to, to_count, from, from_count, flags);
}

/* Exchanges long blocks of different lengths, and a few of 17 ints. With `gaps` every other int of what is received is a gap. */
static void vector(int salt, int gaps) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  int sent[64], send_at[64], received[64], receive_at[64], send_all = 0, receive_all = 0;
  for (int peer = 0; peer < size; ++peer) {
    sent[peer] = (rank + peer) % 3 == 0 ? 17 : kLong + 13 * rank + peer;
    received[peer] = (rank + peer) % 3 == 0 ? 17 : kLong + 13 * peer + rank;
    send_at[peer] = send_all;
    receive_at[peer] = receive_all;
    send_all += sent[peer];
    receive_all += received[peer];
  }
  const int step = gaps ? 2 : 1;
  MPI_Datatype spread = MPI_INT;
  if (gaps) {
    MPI_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &spread));
    MPI_OK(MPI_Type_commit(&spread));
  }
  int* const send = malloc(sizeof(int) * (size_t)send_all);
  int* const recv = malloc(sizeof(int) * (size_t)(receive_all * step));
  for (int peer = 0; peer < size; ++peer) {
    for (int i = 0; i < sent[peer]; ++i) send[send_at[peer] + i] = number(rank, peer, i + salt);
  }
  for (int i = 0; i < receive_all * step; ++i) recv[i] = -5;
  MPI_OK(MPI_Alltoallv(send, sent, send_at, MPI_INT, recv, received, receive_at, spread, MPI_COMM_WORLD));
  int wrong = 0;
  for (int peer = 0; peer < size; ++peer) {
    for (int i = 0; i < received[peer]; ++i) {
      const int at = (receive_at[peer] + i) * step;
      wrong += recv[at] != number(peer, rank, i + salt) || (gaps && recv[at + 1] != -5);
    }
  }
  CHECK(wrong == 0, "%d wrong elements of MPI_Alltoallv%s", wrong, gaps ? " with gaps" : "");
  free(send);
  free(recv);
  if (gaps) MPI_OK(MPI_Type_free(&spread));
}

static void pending(int salt) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  int* const send = malloc(sizeof(int) * (size_t)size * kLong);
  int* const recv = malloc(sizeof(int) * (size_t)size * kLong);
  for (int i = 0; i < size * kLong; ++i) {
    send[i] = number(rank, i / kLong, i % kLong + salt);
    recv[i] = -1;
  }
  MPI_Request request;
  MPI_OK(MPI_Ialltoall(send, kLong, MPI_INT, recv, kLong, MPI_INT, MPI_COMM_WORLD, &request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int wrong = 0;
  for (int i = 0; i < size * kLong; ++i) wrong += recv[i] != number(i / kLong, rank, i % kLong + salt);
  CHECK(wrong == 0, "%d wrong elements of MPI_Ialltoall", wrong);
  free(send);
  free(recv);
}

static void sum(int salt, int in_place) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  int* const send = malloc(sizeof(int) * kLonger);
  int* const recv = malloc(sizeof(int) * kLonger);
  for (int i = 0; i < kLonger; ++i) {
    send[i] = number(rank, 0, i + salt);
    recv[i] = in_place ? send[i] : -1;
  }
  MPI_OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : send, recv, kLonger, MPI_INT, MPI_BXOR, MPI_COMM_WORLD));
  int wrong = 0;
  for (int i = 0; i < kLonger; ++i) {
    int expected = 0;
    for (int peer = 0; peer < size; ++peer) expected ^= number(peer, 0, i + salt);
    wrong += recv[i] != expected || (!in_place && send[i] != number(rank, 0, i + salt));
  }
  CHECK(wrong == 0, "%d wrong elements of MPI_Allreduce%s", wrong, in_place ? " in place" : "");
  free(send);
  free(recv);
}

static void all_calls(int salt) {
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, kLong, salt));
  vector(salt, 0);
  vector(salt, 1);
  pending(salt);
  sum(salt, 0);
  sum(salt, 1);
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, kLonger, salt));
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, salt));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 2) return 2;
  all_calls(0);
  now_and_then = strcmp(argv[1], "now_and_then") == 0;
  refuses = strcmp(argv[1], "one") != 0 || rank_in(MPI_COMM_WORLD) == 1;
  for (int again = 1; again < 6; ++again) all_calls(again);
  CHECK(!refuses || refused > 10, "only %ld of %ld reads were refused", refused, asked);
  MPI_Finalize();
  return verdict();
}
