/* The program sends megabytes from the first to the last rank and back. Rank 0 prints the seconds.
 *
 *   transfer MEGABYTES */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int bytes = (argc > 1 ? atoi(argv[1]) : 1) << 20, rank = rank_in(MPI_COMM_WORLD);
  const int last = size_of_comm(MPI_COMM_WORLD) - 1;
  char* data = calloc((size_t)bytes, 1);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  const double began = MPI_Wtime();
  for (int way = 0; way < 2; ++way) {
    if (rank == (way ? last : 0)) MPI_OK(MPI_Send(data, bytes, MPI_CHAR, way ? 0 : last, way, MPI_COMM_WORLD));
    if (rank == (way ? 0 : last)) MPI_OK(MPI_Recv(data, bytes, MPI_CHAR, way ? last : 0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  if (rank == 0) printf("took %.4f s.\n", MPI_Wtime() - began);
  free(data);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
