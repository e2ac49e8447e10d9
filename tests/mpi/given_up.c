/* MPI forbids MPI_Request_free and MPI_Cancel of nonblocking collectives under way. They are refused with an error of the communicator, and the
 * request is left as it is. So the call ends as if nobody had asked, and MPI_Finalize with it. MPICH 5 frees, and the call goes on. What MPI allows
 * goes on as ever.
 *
 *   given_up [threads] [persistent]      `threads`: at MPI_THREAD_MULTIPLE; `persistent`: persistent calls, too */
#include "check.h"
#include "persistent_names.h"

enum { kMost = 4096, kRanks = 8, kRounds = 6 };

static int send[kMost * kRanks], recv[kMost * kRanks];
static int rank, ranks, told, told_elsewhere, frees;
static MPI_Comm comm;

static void hear(MPI_Comm* of, int* code, ...) {
  (void)of, (void)code;
  ++told;
}

static void hear_elsewhere(MPI_Comm* of, int* code, ...) {
  (void)of, (void)code;
  ++told_elsewhere;
}

static void answer(MPI_Comm of, MPI_Comm_errhandler_function* function) {
  MPI_Errhandler handler;
  MPI_OK(MPI_Comm_create_errhandler(function, &handler));
  MPI_OK(MPI_Comm_set_errhandler(of, handler));
  MPI_OK(MPI_Errhandler_free(&handler));
}

typedef enum { kAlltoall, kAllreduce, kForms } Form;

static int start(Form form, int count, MPI_Request* request) {
  for (int i = 0; i < ranks * count; ++i) send[i] = number(rank, i / count, i % count), recv[i] = -1;
  return form == kAlltoall ? MPI_Ialltoall(send, count, MPI_INT, recv, count, MPI_INT, comm, request)
                           : MPI_Iallreduce(send, recv, count, MPI_INT, MPI_SUM, comm, request);
}

static void check_result(Form form, int count, const char* when) {
  int wrong = 0;
  for (int i = 0; form == kAlltoall && i < ranks * count; ++i) wrong += recv[i] != number(i / count, rank, i % count);
  for (int i = 0; form == kAllreduce && i < count; ++i) {
    int sum = 0;
    for (int from = 0; from < ranks; ++from) sum += number(from, 0, i);
    wrong += recv[i] != sum;
  }
  CHECK(wrong == 0, "rank %d: %d wrong elements of %d, %s", rank, wrong, count, when);
}

/* The others begin only when rank 0 has been refused. Until then its call is under way. */
static void let_others_begin(void) {
  for (int to = 1; rank == 0 && to < ranks; ++to) MPI_OK(MPI_Send(NULL, 0, MPI_INT, to, 0, MPI_COMM_WORLD));
  if (rank != 0) MPI_OK(MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void refused(const char* what, int (*function)(MPI_Request*), MPI_Request* request) {
  const MPI_Request before = *request;
  const int told_before = told + told_elsewhere;
  int class = MPI_SUCCESS;
  const int code = function(request);
  MPI_OK(MPI_Error_class(code, &class));
  CHECK(class == MPI_ERR_REQUEST, "%s: class %d", what, class);
  CHECK(*request == before, "%s: another request", what);
  CHECK(told + told_elsewhere == told_before + 1, "%s: the error handlers were called %d times", what, told + told_elsewhere - told_before);
}

/* Under MPICH 5 the call goes when it ends, which other calls see to. */
static void free_under_way(Form form, int count) {
  MPI_Request request;
  if (rank != 0) let_others_begin();
  for (int i = 0; i < ranks * count; ++i) recv[i] = -1;
  MPI_OK(start(form, count, &request));
  if (rank == 0) {
    MPI_OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL, "a freed request is not null");
    let_others_begin();
    volatile int* const last = &recv[form == kAlltoall ? ranks * count - 1 : count - 1];
    for (int i = 0, any; i < 20000000 && *last == -1; ++i) MPI_OK(MPI_Iprobe(MPI_ANY_SOURCE, 78, comm, &any, MPI_STATUS_IGNORE));
  } else {
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  MPI_OK(MPI_Barrier(comm));
  check_result(form, count, "after its request was freed");
}

static void give_up(Form form, int count) {
  MPI_Request request;
  MPI_Status status;
  int cancelled = -1;
  if (rank != 0) let_others_begin();
  MPI_OK(start(form, count, &request));
  if (rank == 0) {
    if (!frees) refused("MPI_Request_free", MPI_Request_free, &request);
    refused("MPI_Cancel", MPI_Cancel, &request);
    if (!frees) refused("PMPI_Request_free", PMPI_Request_free, &request);
    let_others_begin();
  }
  MPI_OK(MPI_Wait(&request, &status));
  MPI_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK(request == MPI_REQUEST_NULL && cancelled == 0, "the wait has left a request, or the call was cancelled (%d)", cancelled);
  check_result(form, count, "after what was refused");
}

static void give_up_completed(Form form, int count) {
  MPI_Request request;
  int over = 0;
  MPI_OK(start(form, count, &request));
  while (over == 0) MPI_OK(MPI_Request_get_status(request, &over, MPI_STATUS_IGNORE));
  refused("MPI_Cancel of a call that is over", MPI_Cancel, &request);
  told_elsewhere = 0; /* What belongs to the communicator may have been given back. Then MPI_COMM_SELF hears of it. */
  MPI_OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL, "a freed request is not null");
  check_result(form, count, "over");
}

static void cancel_message(void) {
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0;
  MPI_OK(MPI_Irecv(recv, 1, MPI_INT, MPI_ANY_SOURCE, 77, comm, &request));
  MPI_OK(MPI_Cancel(&request));
  MPI_OK(MPI_Wait(&request, &status));
  MPI_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK(cancelled != 0, "a message that can be cancelled was not");
}

static void persistent(int count) {
#if PERSISTENT_COLLECTIVES
  MPI_Request request;
  MPI_Status status;
  int cancelled = -1;
  MPI_OK(MPI_Alltoall_init(send, count, MPI_INT, recv, count, MPI_INT, comm, MPI_INFO_NULL, &request));
  for (int i = 0; i < ranks * count; ++i) send[i] = number(rank, i / count, i % count), recv[i] = -1;
  if (rank != 0) let_others_begin();
  MPI_OK(MPI_Start(&request));
  if (rank == 0) {
    refused("MPI_Cancel of a persistent call", MPI_Cancel, &request);
    let_others_begin();
  }
  MPI_OK(MPI_Wait(&request, &status));
  MPI_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK(cancelled == 0, "a persistent call was cancelled");
  check_result(kAlltoall, count, "of a persistent call");
  MPI_OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL, "a freed persistent request is not null");
#else
  (void)count;
#endif
}

static int is_mpich_5(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_OK(MPI_Get_library_version(version, &length));
  const char* const at = strstr(version, "MPICH Version:");
  return at != NULL && atoi(at + strlen("MPICH Version:")) >= 5;
}

static int has_word(int argc, char** argv, const char* word) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], word) == 0) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, has_word(argc, argv, "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  frees = is_mpich_5();
  rank = rank_in(comm), ranks = size_of_comm(comm);
  answer(comm, hear);
  answer(MPI_COMM_WORLD, hear_elsewhere);
  answer(MPI_COMM_SELF, hear_elsewhere);
  for (int i = 0; i < 20; ++i) MPI_OK(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm));
  for (int round = 0; round < kRounds; ++round) {
    for (Form form = 0; form < kForms; ++form) {
      give_up(form, round % 2 ? kMost : 3);
      give_up_completed(form, round % 2 ? kMost : 3);
      if (frees) free_under_way(form, round % 2 ? kMost : 3);
    }
    cancel_message();
    if (has_word(argc, argv, "persistent")) persistent(round % 2 ? kMost : 3);
  }
  CHECK(told_elsewhere == 0, "other error handlers were called %d times", told_elsewhere);
  MPI_OK(MPI_Comm_free(&comm));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
