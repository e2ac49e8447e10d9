/* The program makes calls for a while, and then ends in a way that leaves it no time. What was counted is kept, even if that was in its first
 * moments. With a limit on files the program goes on, without a report. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

static void call_for_two_seconds_and_a_half(int limited) {
  for (int i = 0; i < 250; ++i) {
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, 100, i));
    usleep(10000);
    const struct rlimit limit = {64, 64};
    if (i == 10 && limited && setrlimit(RLIMIT_FSIZE, &limit) != 0) complain(__FILE__, __LINE__, "no limit on files");
  }
}

/* This takes long enough for what the thread that writes has to do on a busy machine, and less than a second. */
static void call_and_work(void) {
  for (int i = 0; i < 20; ++i) MPI_OK(checked_alltoall(MPI_COMM_WORLD, 100, i));
  usleep(500000);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* const how = argc > 1 ? argv[1] : "killed";
  if (strcmp(how, "killed_at_once") == 0) {
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, 100, 0));
    MPI_OK(MPI_Barrier(MPI_COMM_WORLD));  // The end of one rank ends the other.
    raise(SIGKILL);
  }
  if (strcmp(how, "crashes_soon") == 0) {
    call_and_work();
    raise(SIGSEGV);
  }
  call_for_two_seconds_and_a_half(strcmp(how, "limited") == 0);
  if (strcmp(how, "killed") == 0) raise(SIGKILL);
  if (strcmp(how, "aborts") == 0) abort();
  const int result = verdict();
  MPI_Finalize();
  return result;
}
