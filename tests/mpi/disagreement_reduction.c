/* Ranks do not agree about a reduction. MPI says that an error may come; a hang may not.
 *
 *   disagreement_reduction count | operation | type | collective */
#include "check.h"

static int call(const char* which, int odd, float* send, float* recv) {
  if (!odd) return MPI_Allreduce(send, recv, 1000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(which, "count") == 0) return MPI_Allreduce(send, recv, 700, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(which, "operation") == 0) return MPI_Allreduce(send, recv, 1000, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  if (strcmp(which, "type") == 0) return MPI_Allreduce(send, recv, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return MPI_Alltoall(send, 100, MPI_FLOAT, recv, 100, MPI_FLOAT, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  float* send = calloc(4000, sizeof *send);
  float* recv = calloc(4000, sizeof *recv);
  for (int warm = 0; warm < 12; ++warm) MPI_OK(call("", 0, send, recv)); /* The ninth call opens the communicator. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = call(argc > 1 ? argv[1] : "count", rank_in(MPI_COMM_WORLD) == 1, send, recv);
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  CHECK(class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER, "class %d", class);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD)); /* Other collectives still work, and so does this one by the MPI library. */
  MPI_OK(call("", 0, send, recv));
  free(send);
  free(recv);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
