/* The program calls MPI_Alltoall where MPI does not run.
 *
 *   outside before | after      MPI_Init, MPI_Finalize: the MPI library ends the program itself */
#include "check.h"

int main(int argc, char** argv) {
  int send[64] = {0}, recv[64] = {0};
  const int before = argc > 1 && strcmp(argv[1], "before") == 0;
  if (before) MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_Init(&argc, &argv);
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 2, 1));
  MPI_Finalize();
  MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD);
  printf("SURVIVED\n");
  return 0;
}
