/* The program makes calls of MPI_Allreduce that MPI refuses, or may take though the standard does not name them. It prints for each the class of the
 * error, to be compared with the same program without crossrail. */
#include "check.h"

static int send[64], recv[64];

static void attempt(const char* name, int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  printf("result rank %d %s: class %d\n", rank_in(MPI_COMM_WORLD), name, class);
  fflush(stdout);
}

static void right(MPI_Comm comm) {
  int mine = rank_in(comm) + 1, sum = 0;
  const int ranks = size_of_comm(comm);
  MPI_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == ranks * (ranks + 1) / 2, "the sum is %d", sum);
}

static void attempts(MPI_Comm comm) {
  MPI_Datatype pair, twin;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_dup(MPI_INT, &twin);
  attempt("null communicator", MPI_Allreduce(send, recv, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
#ifdef OPEN_MPI /* MPICH itself does not look, and crashes. */
  attempt("negative count", MPI_Allreduce(send, recv, -1, MPI_INT, MPI_SUM, comm));
#endif
  attempt("null type", MPI_Allreduce(send, recv, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
  attempt("null operation", MPI_Allreduce(send, recv, 1, MPI_INT, MPI_OP_NULL, comm));
  attempt("receive in place", MPI_Allreduce(send, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
  attempt("sum of bytes", MPI_Allreduce(send, recv, 1, MPI_BYTE, MPI_SUM, comm));
  attempt("bits of floats", MPI_Allreduce(send, recv, 1, MPI_FLOAT, MPI_BAND, comm));
  attempt("place of integers", MPI_Allreduce(send, recv, 1, MPI_INT, MPI_MINLOC, comm));
  attempt("sum of pairs", MPI_Allreduce(send, recv, 1, MPI_DOUBLE_INT, MPI_SUM, comm));
  attempt("sum of a derived type", MPI_Allreduce(send, recv, 1, pair, MPI_SUM, comm));
  attempt("sum of a duplicate", MPI_Allreduce(send, recv, 1, twin, MPI_SUM, comm));
  attempt("sum of characters", MPI_Allreduce(send, recv, 1, MPI_CHAR, MPI_SUM, comm));
  attempt("replace", MPI_Allreduce(send, recv, 1, MPI_INT, MPI_REPLACE, comm));
  attempt("two equal buffers", MPI_Allreduce(send, send, 1, MPI_INT, MPI_SUM, comm));
  MPI_Type_free(&pair);
  MPI_Type_free(&twin);
  right(comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* MPI-4 raises here what has no communicator. */
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  attempts(dup); /* It was never used before. */
  attempts(dup);
  right(MPI_COMM_WORLD);
  MPI_Comm_free(&dup);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
