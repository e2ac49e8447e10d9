/* A timer interrupts every rank two thousand times a second, as profilers do. System calls are not begun again by themselves (no SA_RESTART). The
 * program makes calls of all sizes, on communicators that come and go.
 *
 *   interrupted [CALLS] */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"
#include "random_numbers.h"

static volatile sig_atomic_t interruptions;

static void count_one(int signal) {
  (void)signal;
  ++interruptions;
}

static void start_timer(int which, int signal) {
  struct sigaction action = {.sa_handler = count_one};
  const struct itimerval often = {{0, 500}, {0, 500}};
  sigaction(signal, &action, NULL);
  setitimer(which, &often, NULL);
}

/* Output of stdio is lost where a signal interrupts it. */
static void stop_timer(int which) {
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(which, &never, NULL);
}

static void checked_allreduce(MPI_Comm comm, int count, int salt) {
  const int size = size_of_comm(comm), rank = rank_in(comm);
  int* send = malloc(sizeof(int) * (size_t)(count + 1));
  int* recv = malloc(sizeof(int) * (size_t)(count + 1));
  for (int i = 0; i < count; ++i) send[i] = number(rank, salt, i);
  memset(recv, 0xee, sizeof(int) * (size_t)(count + 1));
  MPI_OK(MPI_Allreduce(send, recv, count, MPI_INT, MPI_SUM, comm));
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    unsigned sum = 0;
    for (int from = 0; from < size; ++from) sum += (unsigned)number(from, salt, i);
    wrong += recv[i] != (int)sum;
  }
  CHECK(wrong == 0, "%d wrong sums of %d", wrong, count);
  CHECK(recv[count] == (int)0xeeeeeeee, "wrote behind the end");
  free(send);
  free(recv);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 200;
  start_timer(ITIMER_REAL, SIGALRM);
  start_timer(ITIMER_PROF, SIGPROF);
  Random all = random_from(4), own = random_from(77 + (unsigned)rank_in(MPI_COMM_WORLD));
  const int counts[] = {1, 300, 5000, 40000, 300000};
  MPI_Comm comm = MPI_COMM_NULL;
  for (int i = 0; i < calls; ++i) {
    if (i % 20 == 0) {
      if (comm != MPI_COMM_NULL) MPI_OK(MPI_Comm_free(&comm));
      MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    }
    if (random_below(&own, 8) == 0) usleep(5000);
    const int count = counts[random_below(&all, 5)];
    if (random_below(&all, 2)) {
      MPI_OK(checked_alltoall(comm, count, i));
    } else {
      checked_allreduce(comm, count, i);
    }
  }
  MPI_OK(MPI_Comm_free(&comm));
  stop_timer(ITIMER_REAL);
  stop_timer(ITIMER_PROF);
  CHECK(interruptions > 100, "%d interruptions", (int)interruptions);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
