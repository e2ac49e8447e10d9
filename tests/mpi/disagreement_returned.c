/* A program whose communicator returns errors, while MPI_COMM_WORLD keeps the handler that ends the job: two ranks that do not agree about a block get
 * errors, if any, and the job goes on. The blocks are long enough that MPI libraries do not pack them with their envelopes. */
#include "check.h"

enum { kMost = 40000 };

static int send[kMost * 8], recv[kMost * 8];

static int call(MPI_Comm comm, int count) {
  int counts_out[8], counts_in[8], places[8];
  const int rank = rank_in(comm), ranks = size_of_comm(comm);
  for (int i = 0; i < ranks; ++i) counts_out[i] = counts_in[i] = count, places[i] = i * kMost;
  if (rank == 1) counts_out[0] = count + 2;
  for (int i = 0; i < ranks * kMost; ++i) send[i] = i, recv[i] = -1;
  return MPI_Alltoallv(send, counts_out, places, MPI_INT, recv, counts_in, places, MPI_INT, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int counts[] = {3, 5000, kMost - 2};
  for (int i = 0; i < 3; ++i) {
    MPI_Comm comm;
    MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int class = MPI_SUCCESS;
    const int code = call(comm, counts[i]);
    if (code != MPI_SUCCESS) MPI_OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER || class == MPI_ERR_INTERN, "class %d", class);
    MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
