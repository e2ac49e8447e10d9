/* Messages between nodes are long enough for helper processes to share them. The program calls MPI_Allreduce and MPI_Alltoall, blocking and
 * nonblocking, in place and not, on the world, a copy of it and other orders of its ranks. Several calls run at a time in different orders on
 * different ranks, and by two threads. Lengths and bytes are random, and buffers are guarded.
 *
 *   long_messages SEED CALLS [threads|seconds]   seconds: blocking ones, as many as fit in these */
#include <pthread.h>
#include <stdint.h>

#include "check.h"
#include "random_numbers.h"

enum { kMostInts = 700 * 1000, kGuard = 16, kComms = 3 };
#define POISON 0xA5A5A5A5u

static unsigned element(int rank, int at, unsigned salt) { return (unsigned)at * 2654435761u + (unsigned)rank * 40503u + salt * 97u; }

static unsigned* guarded(int count) {
  unsigned* ints = malloc(sizeof(unsigned) * (size_t)(count + kGuard));
  for (int at = 0; at < count + kGuard; ++at) ints[at] = POISON;
  return ints;
}

static int broken_guards(const unsigned* ints, int count) {
  int broken = 0;
  for (int at = count; at < count + kGuard; ++at) broken += ints[at] != POISON;
  return broken;
}

struct call {
  MPI_Comm comm;
  int count;  /* It counts all elements, or those of a block. */
  unsigned salt;
  int reduces, in_place;
  unsigned *send, *recv;
};

static struct call make_call(MPI_Comm comm, Random* numbers) {
  const int size = size_of_comm(comm), rank = rank_in(comm);
  struct call made = {.comm = comm};
  made.salt = (unsigned)random_below(numbers, 1000);
  made.reduces = random_below(numbers, 2);
  made.in_place = random_below(numbers, 3) == 0;
  const int few = random_below(numbers, 4) == 0;
  made.count = 1 + random_below(numbers, few ? 100 : made.reduces ? kMostInts : kMostInts / size);
  const int all = made.reduces ? made.count : made.count * size;
  made.send = guarded(all);
  made.recv = guarded(all);
  unsigned* const filled = made.in_place ? made.recv : made.send;
  for (int at = 0; at < all; ++at) filled[at] = element(rank, at, made.salt);
  return made;
}

static void start(const struct call* call, MPI_Request* request) {
  const void* send = call->in_place ? MPI_IN_PLACE : call->send;
  if (call->reduces && request == NULL) MPI_OK(MPI_Allreduce(send, call->recv, call->count, MPI_UNSIGNED, MPI_SUM, call->comm));
  if (call->reduces && request != NULL) MPI_OK(MPI_Iallreduce(send, call->recv, call->count, MPI_UNSIGNED, MPI_SUM, call->comm, request));
  if (!call->reduces && request == NULL) MPI_OK(MPI_Alltoall(send, call->count, MPI_UNSIGNED, call->recv, call->count, MPI_UNSIGNED, call->comm));
  if (!call->reduces && request != NULL) MPI_OK(MPI_Ialltoall(send, call->count, MPI_UNSIGNED, call->recv, call->count, MPI_UNSIGNED, call->comm, request));
}

static unsigned expected(const struct call* call, int at) {
  const int rank = rank_in(call->comm);
  if (!call->reduces) return element(at / call->count, rank * call->count + at % call->count, call->salt);
  unsigned sum = 0;
  for (int peer = 0; peer < size_of_comm(call->comm); ++peer) sum += element(peer, at, call->salt);
  return sum;
}

static void finish(struct call* call) {
  const int all = call->reduces ? call->count : call->count * size_of_comm(call->comm);
  int wrong = broken_guards(call->recv, all) + broken_guards(call->send, all);
  for (int at = 0; at < all; ++at) wrong += call->recv[at] != expected(call, at);
  CHECK(wrong == 0, "%d of %d wrong, %s%s", wrong, call->count, call->reduces ? "allreduce" : "alltoall", call->in_place ? " in place" : "");
  free(call->send);
  free(call->recv);
}

/* Collectives of one communicator keep their order; those of several need not. */
static void several_at_a_time(const MPI_Comm* comms, Random* numbers, int turn) {
  struct call calls[kComms];
  MPI_Request requests[kComms];
  for (int one = 0; one < kComms; ++one) calls[one] = make_call(comms[one], numbers);
  for (int step = 0; step < kComms; ++step) {
    const int one = rank_in(MPI_COMM_WORLD) % 2 == 0 ? step : kComms - 1 - step;
    start(&calls[one], &requests[one]);
  }
  if (turn % 2 == 0) MPI_OK(MPI_Waitall(kComms, requests, MPI_STATUSES_IGNORE));
  for (int one = kComms - 1; turn % 2 != 0 && one >= 0; --one) MPI_OK(MPI_Wait(&requests[one], MPI_STATUS_IGNORE));
  for (int one = 0; one < kComms; ++one) finish(&calls[one]);
}

struct worker {
  MPI_Comm comm;
  uint64_t seed;
  int calls;
};

static void* work(void* argument) {
  const struct worker* worker = argument;
  Random numbers = random_from(worker->seed);
  for (int number = 0; number < worker->calls; ++number) {
    struct call call = make_call(worker->comm, &numbers);
    start(&call, NULL);
    finish(&call);
  }
  return NULL;
}

int main(int count, char** words) {
  const uint64_t seed = strtoull(words[1], NULL, 10);
  const int calls = atoi(words[2]);
  const int threads = count > 3 && strcmp(words[3], "threads") == 0;
  const double seconds = count > 3 && !threads ? atof(words[3]) : 0;
  int provided = 0;
  MPI_Init_thread(&count, &words, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm comms[kComms];
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
  MPI_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]));
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]));
  Random numbers = random_from(seed);
  const double began = MPI_Wtime();
  for (int number = 0, go_on = 1; number < calls && go_on; ++number) {
    struct call call = make_call(comms[number % kComms], &numbers);
    start(&call, NULL);
    finish(&call);
    if (number % 4 == 0 && seconds == 0) several_at_a_time(comms, &numbers, number / 4);
    go_on = seconds == 0 || MPI_Wtime() - began < seconds;
    if (seconds > 0) MPI_OK(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
  }
  if (threads && provided == MPI_THREAD_MULTIPLE) {
    pthread_t other;
    struct worker workers[] = {{comms[0], seed + 1, calls}, {comms[1], seed + 2, calls}};
    pthread_create(&other, NULL, work, &workers[1]);
    work(&workers[0]);
    pthread_join(other, NULL);
  }
  for (int one = 0; one < kComms; ++one) MPI_OK(MPI_Comm_free(&comms[one]));
  MPI_Finalize();
  return verdict();
}
