/* The program starts other programs, or ends, while exchanges are pending and threads of the library's may be at work.
 *
 *   children [threads]        children that end at once, by exit, as another program, and by system(): the exchanges go on
 *   children exit             exit() with exchanges pending and without MPI_Finalize: the process ends */
#include <sys/wait.h>

#include "check.h"
#include "deadline.h"
#include "exchange.h"

enum { kSeconds = 30, kRounds = 40, kAtOnce = 5, kWaysToEnd = 4 };

static void child_ends(int way) {
  static char* const arguments[] = {"true", NULL};
  if (way == 0) _exit(0);
  if (way == 1) exit(0);
  execv("/bin/true", arguments);
  _exit(1);
}

static int status_of_child(int way) {
  int status = -1;
  if (way == kWaysToEnd - 1) return system("exit 0");
  char* const used = malloc(100000); /* The child has memory to allocate and to free, too. */
  const pid_t child = fork();
  if (child == 0) {
    free(used);
    free(malloc(300000));
    child_ends(way);
  }
  free(used);
  CHECK(child > 0 && waitpid(child, &status, 0) == child, "no child");
  return status;
}

static void one_round(int round) {
  Exchange exchanges[kAtOnce];
  const int rank = rank_in(MPI_COMM_WORLD);
  for (int i = 0; i < kAtOnce; ++i) {
    begin_exchange(&exchanges[i], MPI_COMM_WORLD, (round + i) % kForms, i == 0 ? 50000 : 40 * i, round + i);
    if ((round + i + rank) % 3 == 0) {
      const int status = status_of_child((round + i) % kWaysToEnd);
      CHECK(status == 0, "round %d: a child's status is %d", round, status);
    }
  }
  for (int i = 0; i < kAtOnce; ++i) {
    MPI_OK(MPI_Wait(&exchanges[i].request, MPI_STATUS_IGNORE));
    end_exchange(&exchanges[i], "beside children");
  }
}

static int leave(void) {
  static Exchange exchanges[kAtOnce];
  const int rank = rank_in(MPI_COMM_WORLD);
  for (int i = 0; i < kAtOnce; ++i) begin_exchange(&exchanges[i], MPI_COMM_WORLD, i % kForms, 30000, i);
  usleep((useconds_t)(rank * 2000));
  printf("PASS\n");
  exit(0);
}

int main(int argc, char** argv) {
  const char* const word = argc > 1 ? argv[1] : "";
  int provided = 0;
  MPI_Init_thread(&argc, &argv, strcmp(word, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 1));
  begin_case(kSeconds, "exit with exchanges pending");
  if (strcmp(word, "exit") == 0) return leave();
  for (int round = 0; round < kRounds; ++round) {
    begin_case(kSeconds, "children, round %d", round);
    one_round(round);
  }
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
