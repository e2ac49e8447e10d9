/* At MPI_THREAD_MULTIPLE threads have communicators of their own. One sits in Wait and Waitall most of the time, others start, test and complete; in
 * the second part two threads test different requests of exchanges that a third has started.
 *
 *   threads [EXCHANGES [PARTS]]      of w: waits, t: tests, c: makes communicators, r: tests others' requests */
#include <pthread.h>

#include "check.h"
#include "deadline.h"
#include "exchange.h"
#include "host.h"

enum { kThreads = 3, kSeconds = 60, kAtOnce = 6 };

static MPI_Comm comms[kThreads];
static int exchanges_each = 150;

static void* wait_long(void* index) {
  const MPI_Comm comm = comms[(long)index];
  for (int i = 0; i < exchanges_each / 10; ++i) {
    Exchange exchanges[kAtOnce];
    MPI_Request requests[kAtOnce];
    for (int k = 0; k < kAtOnce; ++k) {
      /* The others come late, so that this thread is inside while the other threads work. */
      if (k == 1 && rank_in(comm) != 0) usleep(3000);
      begin_exchange(&exchanges[k], comm, k, 1 + i * 37 % 2000, i + k);
      requests[k] = exchanges[k].request;
    }
    MPI_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    MPI_OK(MPI_Waitall(kAtOnce, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < kAtOnce; ++k) {
      exchanges[k].request = requests[k];
      end_exchange(&exchanges[k], "thread that waits");
    }
  }
  return NULL;
}

static void* test_in_a_loop(void* index) {
  const MPI_Comm comm = comms[(long)index];
  for (int i = 0; i < exchanges_each; ++i) {
    Exchange exchange;
    int done = 0;
    begin_exchange(&exchange, comm, i % (2 * kForms), 1 + i * 53 % 3000, i);
    while (!done) {
      MPI_OK(MPI_Test(&exchange.request, &done, MPI_STATUS_IGNORE));
      if (!done) sched_yield();
    }
    end_exchange(&exchange, "thread that tests");
    if (i % 20 == 0) MPI_OK(checked_alltoall(comm, 3, i));
  }
  return NULL;
}

static void* make_communicators(void* index) {
  const MPI_Comm comm = comms[(long)index];
  for (int i = 0; i < exchanges_each / 5; ++i) {
    MPI_Comm own;
    Exchange exchange, another;
    MPI_OK(MPI_Comm_dup(comm, &own));
    begin_exchange(&exchange, own, freed_communicator_works(i % kForms == kTypes) ? i % kForms : kVector, 1 + i * 91 % 900, i);
    begin_exchange(&another, comm, (i + 1) % kForms, 1 + i * 17 % 900, i);
    MPI_OK(MPI_Comm_free(&own));
    MPI_OK(MPI_Wait(&another.request, MPI_STATUS_IGNORE));
    MPI_OK(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE));
    end_exchange(&exchange, "thread that makes communicators");
    end_exchange(&another, "thread that makes communicators");
  }
  return NULL;
}

static void* complete_by_tests(void* exchange) {
  Exchange* const mine = exchange;
  int done = 0;
  while (!done) {
    MPI_OK(MPI_Test(&mine->request, &done, MPI_STATUS_IGNORE));
    if (!done) sched_yield();
  }
  return NULL;
}

/* Two requests of one communicator are started here, and two threads complete them. */
static void tested_by_two_threads(MPI_Comm comm, int index) {
  Exchange exchanges[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) begin_exchange(&exchanges[i], comm, (index + i) % kForms, 1 + index * 211 % 20000, index + i);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, complete_by_tests, &exchanges[(index + i) % 2]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; ++i) end_exchange(&exchanges[i], "tested by two threads");
}

int main(int argc, char** argv) {
  void* (*const work[kThreads])(void*) = {wait_long, test_in_a_loop, make_communicators};
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    printf("no MPI_THREAD_MULTIPLE here\n");
    MPI_Finalize();
    return 77;
  }
  if (argc > 1) exchanges_each = atoi(argv[1]);
  const char* const parts = argc > 2 ? argv[2] : "wtcr";
  pthread_t threads[kThreads];
  begin_case(kSeconds, "threads with communicators of their own");
  for (long i = 0; i < kThreads; ++i) MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  for (long i = 0; i < kThreads; ++i) {
    if (strchr(parts, "wtc"[i]) != NULL) pthread_create(&threads[i], NULL, work[i], (void*)i);
  }
  for (int i = 0; i < kThreads; ++i) {
    if (strchr(parts, "wtc"[i]) != NULL) pthread_join(threads[i], NULL);
  }
  begin_case(kSeconds, "requests tested by two threads");
  for (int i = 0; i < exchanges_each / 3 && strchr(parts, 'r') != NULL; ++i) tested_by_two_threads(comms[0], i);
  for (int i = 0; i < kThreads; ++i) MPI_OK(MPI_Comm_free(&comms[i]));
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
