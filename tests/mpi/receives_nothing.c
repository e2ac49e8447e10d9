/* A rank receives nothing in a persistent MPI_Reduce_scatter with an operation of the program's own, and has no buffer for it. The call is the MPI
 * library's on all ranks, so none of them waits for others that ask nobody. This holds under MPI libraries with persistent collectives only. */
#include "check.h"
#include "persistent_names.h"

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#if PERSISTENT_COLLECTIVES
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of_comm(MPI_COMM_WORLD);
  enum { kMostRanks = 8, kEach = 500 };
  static int sent[kMostRanks * kEach], received[kEach], counts[kMostRanks];
  MPI_Request request, others = MPI_REQUEST_NULL;
  MPI_Comm comm;
  MPI_Op op;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Op_create(add, 1, &op);
  for (int i = 1; i < ranks; ++i) counts[i] = kEach;
  for (int i = 0; i < kEach * (ranks - 1); ++i) sent[i] = i + rank;
  MPI_OK(MPI_Reduce_scatter_init(sent, rank == 0 ? NULL : received, counts, MPI_INT, op, comm, MPI_INFO_NULL, &request));
  MPI_OK(MPI_Ibarrier(comm, &others));
  MPI_OK(MPI_Start(&request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_OK(MPI_Wait(&others, MPI_STATUS_IGNORE));
  for (int i = 0; rank > 0 && i < kEach; ++i) {
    const int right = ranks * (kEach * (rank - 1) + i) + ranks * (ranks - 1) / 2;
    CHECK(received[i] == right, "element %d is %d, not %d", i, received[i], right);
  }
  MPI_Request_free(&request);
  MPI_Op_free(&op);
  MPI_Comm_free(&comm);
#endif
  const int result = verdict();
  MPI_Finalize();
  return result;
}
