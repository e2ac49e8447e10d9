/* Calls for a while, and then an end that leaves a program no time: what was counted is kept. Or a limit on files: the program
 * goes on, without a report.
 *   report_kept killed|aborts|limited */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* const how = argc > 1 ? argv[1] : "killed";
  for (int i = 0; i < 250; ++i) {  // about two and a half seconds
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, 100, i));
    usleep(10000);
    if (i == 10 && strcmp(how, "limited") == 0) {
      const struct rlimit limit = {64, 64};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    }
  }
  if (strcmp(how, "killed") == 0) raise(SIGKILL);
  if (strcmp(how, "aborts") == 0) abort();
  const int result = verdict();
  MPI_Finalize();
  return result;
}
