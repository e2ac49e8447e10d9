/* Some ranks of this job run without crossrail, which its first calls reveal:
 *
 *   some_ranks_without alltoall | ialltoall | iallreduce | alltoall_init | allreduce_init | polled
 *
 * A signal ends those that do not end. */
#include "check.h"
#include "persistent_names.h"

#include <signal.h>
#include <unistd.h>

enum { kCalls = 40, kSeconds = 13 };

static void give_up(int signal) {
  (void)signal;
  static const char text[] = "does not end\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

static int send[64], recv[64];

static void blocking(void) { MPI_OK(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD)); }

static void start(const char* form, MPI_Request* request) {
  if (strcmp(form, "iallreduce") == 0) {
    MPI_OK(MPI_Iallreduce(send, recv, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, request));
  } else {
    MPI_OK(MPI_Ialltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, request));
  }
}

static void nonblocking(const char* form) {
  MPI_Request request;
  start(form, &request);
  if (strcmp(form, "polled") != 0) {
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return;
  }
  for (int ended = 0; !ended;) MPI_OK(MPI_Test(&request, &ended, MPI_STATUS_IGNORE));
}

#if PERSISTENT_COLLECTIVES
static void persistent(const char* form) {
  MPI_Request request;
  if (strcmp(form, "allreduce_init") == 0) {
    MPI_OK(MPI_Allreduce_init(send, recv, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  } else {
    MPI_OK(MPI_Alltoall_init(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  }
  MPI_OK(MPI_Start(&request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_OK(MPI_Request_free(&request));
}
#else
static void persistent(const char* form) { (void)form, blocking(); }
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* form = argc > 1 ? argv[1] : "alltoall";
  signal(SIGALRM, give_up);
  alarm(kSeconds);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  for (int call = 0; call < kCalls; ++call) {
    for (int to = 0; to < size; ++to) send[to] = number(rank, to, call);
    memset(recv, 0xee, sizeof recv);
    if (strcmp(form, "alltoall") == 0) blocking();
    else if (strstr(form, "_init") != NULL) persistent(form);
    else nonblocking(form);
    if (strstr(form, "allreduce") == NULL) {
      for (int from = 0; from < size; ++from) CHECK(recv[from] == number(from, rank, call), "call %d: %d from %d", call, recv[from], from);
    }
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
