/* A legal program may have these things around its exchanges:
 *
 *   surroundings pages BYTES     receive buffers that a handler of SIGSEGV makes writable, page by page
 *   surroundings handler         a handler that needs more stack than a megabyte
 *   surroundings thread KIB      a thread with so little stack
 *   surroundings finalize        exchanges in MPI_Finalize, in the functions that delete attributes of MPI_COMM_SELF, set before the first
 *                                exchange and after it */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"
#include "deadline.h"

enum { kRounds = 16, kMicroseconds = 3000, kBigFrame = 3 << 20 };

static int rank, ranks;

static int number_for(int from, int to, int place, int round) { return from * 1000003 + to * 1009 + place * 7 + round; }

/* Sends `ints` to every rank; every third time by the blocking call. The last rank comes late, or waits late. */
static void exchange(MPI_Comm comm, int* send, int* recv, int ints, int round, void (*before)(void)) {
  for (int peer = 0; peer < ranks; ++peer) {
    for (int i = 0; i < ints; ++i) send[peer * ints + i] = number_for(rank, peer, i, round), recv[peer * ints + i] = -1;
  }
  if (before != NULL) before();
  if (rank == ranks - 1 && round % 2 != 0) usleep(kMicroseconds);
  if (round % 3 == 0) {
    MPI_OK(MPI_Alltoall(send, ints, MPI_INT, recv, ints, MPI_INT, comm));
  } else {
    MPI_Request request;
    MPI_OK(MPI_Ialltoall(send, ints, MPI_INT, recv, ints, MPI_INT, comm, &request));
    if (round % 3 == 1) usleep(kMicroseconds);
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  for (int peer = 0; peer < ranks; ++peer) {
    for (int i = 0; i < ints; ++i) {
      CHECK(recv[peer * ints + i] == number_for(peer, rank, i, round), "rank %d, exchange %d: from rank %d a wrong number in place %d", rank, round, peer, i);
    }
  }
}

static char* pages;
static size_t page_bytes, all_bytes;

static void make_writable(int signal_number, siginfo_t* info, void* context) {
  (void)signal_number, (void)context;
  const uintptr_t at = (uintptr_t)info->si_addr / page_bytes * page_bytes;
  if (at < (uintptr_t)pages || at >= (uintptr_t)pages + all_bytes) abort();
  mprotect((void*)at, page_bytes, PROT_READ | PROT_WRITE);
}

static void protect(void) { mprotect(pages, all_bytes, PROT_READ); }

static void receive_in_pages(int bytes) {
  const int ints = bytes / (int)sizeof(int);
  page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  all_bytes = ((size_t)ranks * (size_t)bytes + page_bytes - 1) / page_bytes * page_bytes;
  pages = mmap(NULL, all_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const struct sigaction action = {.sa_sigaction = make_writable, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  int* const send = malloc(all_bytes);
  for (int round = 0; round < kRounds; ++round) exchange(MPI_COMM_WORLD, send, (int*)pages, ints, round, protect);
  free(send);
}

static void need_stack(int signal_number) {
  (void)signal_number;
  volatile char frame[kBigFrame];
  for (size_t at = 0; at < sizeof frame; at += 1024) frame[at] = 1;
}

static void be_interrupted(void) {
  int send[64 * 16], recv[64 * 16];
  const struct sigaction action = {.sa_handler = need_stack, .sa_flags = SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &often, NULL);
  for (int round = 0; round < 40 * kRounds; ++round) exchange(MPI_COMM_WORLD, send, recv, 1 + round % 64, round, NULL);
  setitimer(ITIMER_PROF, &never, NULL);
}

static void* in_a_thread(void* unused) {
  (void)unused;
  enum { kMost = 5000 };
  int* const memory = malloc(2 * (size_t)ranks * kMost * sizeof(int));
  for (int round = 0; round < 4 * kRounds; ++round) exchange(MPI_COMM_WORLD, memory, memory + ranks * kMost, 1 + round * 311 % kMost, round, NULL);
  free(memory);
  return NULL;
}

static void use_a_thread(int kibibytes) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)kibibytes * 1024);
  const int made = pthread_create(&thread, &attributes, in_a_thread, NULL);
  CHECK(made == 0, "no thread");
  if (made == 0) pthread_join(thread, NULL);
}

static int exchange_in_finalize(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  int send[64 * 4], recv[64 * 4];
  for (int round = 0; round < kRounds; ++round) exchange(MPI_COMM_WORLD, send, recv, 4, round, NULL);
  return MPI_SUCCESS;
}

static void exchange_when_deleted(void) {
  int keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, exchange_in_finalize, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  const int amount = argc > 2 ? atoi(argv[2]) : 0;
  int level;
  MPI_Init_thread(&argc, &argv, strcmp(what, "thread") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(ranks <= 16, "16 ranks at most");
  begin_case(60, "%s", what);
  if (strcmp(what, "pages") == 0) receive_in_pages(amount);
  else if (strcmp(what, "handler") == 0) be_interrupted();
  else if (strcmp(what, "thread") == 0) use_a_thread(amount);
  else exchange_when_deleted();
  int send[64 * 4], recv[64 * 4];
  for (int round = 0; round < kRounds; ++round) exchange(MPI_COMM_WORLD, send, recv, 4, round, NULL);
  if (strcmp(what, "finalize") == 0) exchange_when_deleted();
  MPI_Finalize();
  return verdict();
}
