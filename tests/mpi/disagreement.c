/* Ranks do not agree about the size of a block. MPI says that an error may come; a hang may not.
 *
 *   disagreement CASE [fatal]      with 'fatal' the default error handler shall end the job
 *
 * It prints the class of the error. */
#include "check.h"

enum { kMostBytes = 1 << 21 };

typedef struct {
  const char* name;
  int odd_count, count; /* These are the ints a block of rank 1 and of all others. */
  int own_sides;        /* Rank 1 differs between its own send and receive side. */
  int warm;             /* So many correct calls come before. */
} Case;

static const Case kCases[] = {
    {"small", 3, 2, 0, 0},          {"small_warm", 2, 3, 0, 50},      {"zero", 0, 4, 0, 5},
    {"zero_others", 4, 0, 0, 5},    {"middle", 700, 900, 0, 3},       {"large", 100000, 50000, 0, 3},
    {"small_large", 4, 65536, 0, 3}, {"own_sides", 8, 4, 1, 2},
};

static int call(const Case* which, int* send, int* recv) {
  const int odd = rank_in(MPI_COMM_WORLD) == 1;
  const int count = odd ? which->odd_count : which->count;
  const int recv_count = odd && which->own_sides ? which->count : count;
  const int code = MPI_Alltoall(send, count, MPI_INT, recv, recv_count, MPI_INT, MPI_COMM_WORLD);
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  printf("class %d\n", class);
  CHECK(code != MPI_SUCCESS, "rank %d got no error", rank_in(MPI_COMM_WORLD));
  CHECK(class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER || class == MPI_ERR_INTERN, "class %d", class);
  return code;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Case* which = NULL;
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (argc > 1 && strcmp(argv[1], kCases[i].name) == 0) which = &kCases[i];
  }
  if (which == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  int* send = calloc(kMostBytes, 1);
  int* recv = calloc(kMostBytes, 1);
  for (int i = 0; i < which->warm; ++i) MPI_OK(checked_alltoall(MPI_COMM_WORLD, which->count, i));
  if (argc < 3) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  call(which, send, recv);
  if (argc > 2) printf("SURVIVED\n");
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD)); /* Other collectives still work. */
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 5, 1));
  free(send);
  free(recv);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
