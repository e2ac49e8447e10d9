/* The program ends, or is made, in many ways, for tests of helper processes beside it (tests/python/helper_processes).
 *
 *   helped WAY     what is done after (or instead of) some long MPI_Allreduce; each rank says "PASS" where these were right */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "session.h"

enum { kInts = 256 * 1024, kCalls = 14 }; /* The ninth MPI_Allreduce opens a communicator. */

static void exchange(MPI_Comm comm) {
  int* const ints = malloc(sizeof(int) * kInts);
  const int size = size_of_comm(comm), rank = rank_in(comm);
  for (int call = 0; call < kCalls; ++call) {
    for (int at = 0; at < kInts; ++at) ints[at] = number(rank, call, at);
    MPI_OK(MPI_Allreduce(MPI_IN_PLACE, ints, kInts, MPI_INT, MPI_SUM, comm));
    int wrong = 0;
    for (int at = 0; at < kInts; ++at) {
      int sum = 0;
      for (int from = 0; from < size; ++from) sum += number(from, call, at);
      wrong += ints[at] != sum;
    }
    CHECK(wrong == 0, "%d elements are wrong", wrong);
  }
  free(ints);
}

static int attribute(int key) {
  int* value = NULL;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &found);
  return found ? *value : -1;
}

/* Prints one line: what a program may know of its job. */
static void tell(void) {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  char cores[256] = "";
  for (int cpu = 0; cpu < 64; ++cpu) {
    if (CPU_ISSET(cpu, &cpus)) snprintf(cores + strlen(cores), sizeof cores - strlen(cores), " %d", cpu);
  }
  printf("sees: rank %d of %d, %d of %d on the node, universe %d, application %d, cores%s.\n", rank_in(MPI_COMM_WORLD), size_of_comm(MPI_COMM_WORLD), rank_in(node),
         size_of_comm(node), attribute(MPI_UNIVERSE_SIZE), attribute(MPI_APPNUM), cores);
  MPI_Comm_free(&node);
}

static void wait_for_a_signal(void) {
  printf("waiting\n");
  fflush(stdout);
  for (;;) pause();
}

/* A parent exchanges with its child, by a communicator of both, before and after its own exchange. */
static void spawn(char* program) {
  char* arguments[] = {"child", NULL};
  MPI_Comm between, merged;
  MPI_Comm_get_parent(&between);
  const int is_child = between != MPI_COMM_NULL;
  if (!is_child) MPI_OK(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE));
  MPI_OK(MPI_Intercomm_merge(between, is_child, &merged));
  exchange(merged);
  if (!is_child) exchange(MPI_COMM_WORLD);
  exchange(merged);
  MPI_OK(MPI_Comm_free(&merged));
  MPI_OK(MPI_Comm_disconnect(&between));
}

static int in_a_session(void) {
#if HAVE_SESSIONS
  MPI_Session session;
  MPI_Comm comm = open_session(&session, "crossrail.helped");
  exchange(comm);
  close_session(&session, &comm);
  return verdict();
#else
  return 77;
#endif
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "plain";
  if (strcmp(way, "session") == 0) return in_a_session();
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  if (strcmp(way, "nothing") == 0) {
    MPI_Finalize();
    return verdict();
  }
  if (strcmp(way, "session_too") == 0) {
    const int failed = in_a_session();
    MPI_Finalize();
    return failed;
  }
  if (strcmp(way, "idle") == 0) wait_for_a_signal();
  if (strcmp(way, "spawn") == 0 || strcmp(way, "child") == 0) {
    spawn(argv[0]);
  } else {
    exchange(MPI_COMM_WORLD);
  }
  if (strcmp(way, "tell") == 0) tell();
  const int result = verdict();
  if (strcmp(way, "abort") == 0 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(way, "killed") == 0 && rank == 1) raise(SIGKILL);
  if (strcmp(way, "abort") == 0 || strcmp(way, "killed") == 0 || strcmp(way, "wait") == 0) wait_for_a_signal();
  if (strcmp(way, "no_finalize") == 0) exit(0);
  if (strcmp(way, "no_finalize_3") == 0) _exit(3);
  MPI_Finalize();
  return strcmp(way, "seven") == 0 ? 7 : result;
}
