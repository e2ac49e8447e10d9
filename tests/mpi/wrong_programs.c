/* Each run does one thing that MPI forbids. Where the MPI library itself reports an error, or does as if nothing were wrong, so does crossrail, and
 * neither hangs nor crashes.
 *
 *   wrong_programs CASE [warm]     `warm`: after calls that have opened the communicator
 *
 * Lines 'result ...' must be compared with the same program without crossrail. Where ranks do not agree with each other a line only says that the
 * call has returned. */
#include <signal.h>
#include <unistd.h>

#include "wrong_programs.h"

enum { kSeconds = 25 };

int send[kMost], recv[kMost];
MPI_Comm comm;
const char* name;

static void give_up(int signal) {
  (void)signal;
  static const char text[] = "does not end\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

static void fill(void) {
  for (int i = 0; i < kMost; ++i) send[i] = number(rank_in(MPI_COMM_WORLD), 0, i), recv[i] = -1;
}

static void open_it(void) {
  for (int i = 0; i < 20; ++i) {
    MPI_Request request;
    MPI_OK(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm));
    MPI_OK(MPI_Allreduce(send, recv, 1, MPI_INT, MPI_SUM, comm));
    MPI_OK(MPI_Ialltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm, &request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

static void run_of(const Case* one) {
  for (; one->name != NULL; ++one) {
    if (strcmp(one->name, name) == 0) one->run();
  }
}

int main(int argc, char** argv) {
  name = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  signal(SIGALRM, give_up);
  alarm(kSeconds);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* MPI-4 raises here what has no communicator. */
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  fill();
  if (argc > 2) open_it();
  run_of(wrong_arguments);
  run_of(wrong_order);
  returned("the end");
  const int result = verdict();
  MPI_Finalize();
  return result;
}
