/* The program checks what MPI_Error_class and MPI_Error_string say of crossrail's errors.
 *
 *   error_strings ours | by_version [pending]      the string is our sentence; not under MPICH 4.0 */
#include "check.h"

enum { kErrors = 90, kMost = 40 };

static int ours;

static int is_mpich40(void) {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_OK(MPI_Get_library_version(version, &length));
  return strncmp(version, "MPICH Version:\t4.0", 18) == 0;
}

static int last_used_code(void) {
  int *value = NULL, found = 0;
  MPI_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &found));
  return found ? *value : -1;
}

/* This makes a nonblocking call on a communicator on which there has been an error. Nobody tests for its class, so there is always a sentence. */
static void go_on(MPI_Comm comm, int* send, int* recv) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int class = MPI_SUCCESS, length = 0;
  MPI_Request request;
  int code = MPI_Ialltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(code != MPI_SUCCESS, "no error after an error");
  MPI_OK(MPI_Error_class(code, &class));
  MPI_OK(MPI_Error_string(code, text, &length));
  CHECK(strncmp(text, "crossrail: ", 11) == 0, "the string is '%s'", text);
  CHECK(ours ? class == MPI_ERR_OTHER : class > MPI_ERR_LASTCODE, "code %d is of class %d: %s", code, class, text);
  if (!ours) MPI_OK(MPI_Error_string(class, text, &length));
  CHECK(strncmp(text, "crossrail: ", 11) == 0, "the string of the class is '%s'", text);
}

/* Rank 1 sends more than the others expect. */
static int disagree(int count, int pending) {
  MPI_Comm comm;
  MPI_Request request;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_OK(checked_alltoall(comm, 3, count));
  MPI_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  const int mine = count + (rank_in(comm) == 1), size = size_of_comm(comm);
  int* const send = calloc((size_t)(size * mine), sizeof(int));
  int* const recv = calloc((size_t)(size * mine), sizeof(int));
  int code = pending ? MPI_Ialltoall(send, mine, MPI_INT, recv, mine, MPI_INT, comm, &request)
                     : MPI_Alltoall(send, mine, MPI_INT, recv, mine, MPI_INT, comm);
  if (pending && code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (pending) go_on(comm, send, recv);
  MPI_OK(MPI_Comm_free(&comm));
  free(send);
  free(recv);
  return code;
}

static void check(int code, char* text) {
  int class = MPI_SUCCESS, length = 0;
  text[0] = '\0';
  MPI_OK(MPI_Error_class(code, &class));
  MPI_OK(MPI_Error_string(code, text, &length));
  CHECK(class == MPI_ERR_TRUNCATE, "code %d is of class %d", code, class);
  CHECK((strncmp(text, "crossrail: ", 11) == 0) == ours, "the string is '%s'", text);
  CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && (size_t)length == strlen(text), "%d characters of '%s'", length, text);
}

int main(int argc, char** argv) {
  static char texts[kErrors][MPI_MAX_ERROR_STRING + 1], again[MPI_MAX_ERROR_STRING + 1];
  int codes[kErrors], different = 0, most = 0;
  MPI_Init(&argc, &argv);
  ours = argc > 1 && (strcmp(argv[1], "ours") == 0 || !is_mpich40());
  const int before = last_used_code();
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 0));
  CHECK(last_used_code() == before, "codes were added before any error");
  /* This comes first because later there may be no memory for calls that are pending. */
  if (argc > 2) check(disagree(100, 1), again);
  for (int one = 0; one < kErrors; ++one) {
    codes[one] = disagree(2 + one / 2 * 2, 0);
    CHECK(codes[one] != MPI_SUCCESS, "no error");
    check(codes[one], texts[one]);
    int seen = 0;
    for (int other = 0; other < one; ++other) seen += codes[other] == codes[one];
    different += seen == 0;
  }
  MPI_OK(MPI_Allreduce(&different, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  if (ours) CHECK(most > 1, "one sentence for all errors");
  for (int one = 0; one < kErrors; ++one) { /* What was told once stays as it was. */
    check(codes[one], again);
    CHECK(strcmp(again, texts[one]) == 0, "'%s' has become '%s'", texts[one], again);
  }
  printf("%d codes, the first: %s\n", different, texts[0]);
  CHECK(different <= kMost, "%d codes", different);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
