/* Programs that do what MPI forbids may end with an error, or like any other, but must end.
 *
 *   wrong unfinished       all start, nobody completes, MPI_Finalize
 *   wrong unmatched        only rank 0 starts and nobody completes, MPI_Finalize
 *   wrong cancel           MPI_Cancel of a pending exchange, which goes on; MPI_Request_free of another
 *   wrong sizes [early]    ranks that disagree about the size of a block
 *   wrong killed           rank 1 is killed while all have exchanges pending
 * With the further word `threads` the program runs at MPI_THREAD_MULTIPLE. */
#include <signal.h>

#include "check.h"
#include "deadline.h"
#include "exchange.h"

enum { kSeconds = 30, kPending = 10 };

static void leave_unfinished(int ranks_that_start) {
  static Exchange exchanges[kPending];
  for (int i = 0; i < kPending; ++i) {
    make_exchange(&exchanges[i], MPI_COMM_WORLD, i % kForms, i % 2 ? 10 : 100000);
    fill_exchange(&exchanges[i], i);
    if (rank_in(MPI_COMM_WORLD) < ranks_that_start) start_exchange(&exchanges[i]);
  }
}

static const char* class_of(int code) {
  int class;
  if (code == MPI_SUCCESS) return "success";
  MPI_Error_class(code, &class);
  return class == MPI_ERR_REQUEST ? "invalid request" : class == MPI_ERR_TRUNCATE ? "truncated" : "another error";
}

/* The MPI library returns an error, or nothing at all, and must do so every time. */
static void refuse(const char* what, int (*call)(MPI_Request*)) {
  Exchange exchange;
  make_exchange(&exchange, MPI_COMM_WORLD, kPlain, 30000);
  fill_exchange(&exchange, 5);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank_in(MPI_COMM_WORLD) != 0) usleep(20000); /* It is pending on rank 0. */
  start_exchange(&exchange);
  const int code = call(&exchange.request);
  printf("rank %d: %s: %s\n", rank_in(MPI_COMM_WORLD), what, class_of(code));
  const int freed = exchange.request == MPI_REQUEST_NULL; /* It may be true on ranks where the call was over. */
  if (!freed) {
    MPI_OK(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE));
    end_exchange(&exchange, what);
  }
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (freed) usleep(100000); /* The buffers stay, since nobody knows when it ends. */
}

/* Rank 1 sends and expects less than the others. */
static void disagree(void) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  const int count = rank == 1 ? 3 : 5;
  int* send = calloc((size_t)size * 8, sizeof(int));
  int* recv = calloc((size_t)size * 8, sizeof(int));
  MPI_Request request;
  MPI_Status status;
  int code = MPI_Ialltoall(send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, &status);
  printf("rank %d: sizes: %s\n", rank, class_of(code));
  fflush(stdout);
}

static void kill_one(void) {
  leave_unfinished(99);
  if (rank_in(MPI_COMM_WORLD) == 1) kill(getpid(), SIGKILL);
  Exchange exchange;
  begin_exchange(&exchange, MPI_COMM_WORLD, kPlain, 30000, 1);
  const int code = MPI_Wait(&exchange.request, MPI_STATUS_IGNORE);
  printf("rank %d: survivor: %s\n", rank_in(MPI_COMM_WORLD), class_of(code));
  fflush(stdout);
  _exit(3);
}

static int cancel(MPI_Request* request) { return MPI_Cancel(request); }
static int free_active(MPI_Request* request) { return MPI_Request_free(request); }

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, argc > 2 && strcmp(argv[2], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  const char* const name = argc > 1 ? argv[1] : "";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (argc < 3 || strcmp(argv[2], "early") != 0) MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 1));
  begin_case(kSeconds, "rank %d: %s", rank_in(MPI_COMM_WORLD), name);
  if (strcmp(name, "unfinished") == 0) leave_unfinished(size_of_comm(MPI_COMM_WORLD));
  if (strcmp(name, "unmatched") == 0) leave_unfinished(1);
  if (strcmp(name, "cancel") == 0) refuse("cancel", cancel);
  if (strcmp(name, "cancel") == 0) refuse("free", free_active);
  if (strcmp(name, "sizes") == 0) disagree();
  if (strcmp(name, "killed") == 0) kill_one();
  const int result = verdict();
  begin_case(kSeconds, "rank %d: MPI_Finalize after '%s'", rank_in(MPI_COMM_WORLD), name);
  MPI_Finalize();
  return result;
}
