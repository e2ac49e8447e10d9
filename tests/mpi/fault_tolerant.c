/* Programs that survive failures (ULFM) rely on this. A call that waits on a communicator ends when another rank revokes it, with the class that says
 * so; a dead process is told by its class; and the program goes on without it.
 *
 *   fault_tolerant revoked | killed */
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

enum { kProcessFailed = 75, kProcessFailedPending = 76, kRevoked = 77 };

static int (*revoke_comm)(MPI_Comm);
static int (*shrink)(MPI_Comm, MPI_Comm*);

static int class_of(int code) {
  int class = -1;
  MPI_Error_class(code, &class);
  return class;
}

/* Makes a call on a communicator of which rank 1 is lost or has left. */
static void fail(MPI_Comm comm, int revoked) {
  const int rank = rank_in(comm);
  if (rank == 1 && !revoked) kill(getpid(), SIGKILL);
  if (rank == 1) {
    usleep(300000);
    MPI_OK(revoke_comm(comm));
    return;
  }
  int found = class_of(checked_alltoall(comm, 3, 7));
  printf("class %d\n", found);
  CHECK(revoked ? found == kRevoked : found == kProcessFailed || found == kRevoked, "class %d", found);
  if (!revoked) MPI_OK(revoke_comm(comm));
  found = class_of(checked_alltoall(comm, 3, 8));
  CHECK(found == kRevoked, "then class %d", found);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  revoke_comm = (int (*)(MPI_Comm))dlsym(RTLD_DEFAULT, "MPIX_Comm_revoke");
  shrink = (int (*)(MPI_Comm, MPI_Comm*))dlsym(RTLD_DEFAULT, "MPIX_Comm_shrink");
  if (revoke_comm == NULL || shrink == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  const int revoked = argc > 1 && strcmp(argv[1], "revoked") == 0;
  MPI_Comm comm, rest;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 10; ++i) MPI_OK(checked_alltoall(comm, 3, i));
  fail(comm, revoked);
  MPI_OK(shrink(comm, &rest));
  MPI_Comm_set_errhandler(rest, MPI_ERRORS_RETURN);
  CHECK(size_of_comm(rest) == size_of_comm(comm) - (revoked ? 0 : 1), "%d are left", size_of_comm(rest));
  for (int i = 0; i < 10; ++i) MPI_OK(checked_alltoall(rest, 3, i));
  const int result = verdict();
  fflush(stdout);
  /* Open MPI 5 itself, without crossrail too, hangs in one of three jobs that end with a dead rank. */
  if (!revoked) _exit(result);
  MPI_Finalize();
  return result;
}
