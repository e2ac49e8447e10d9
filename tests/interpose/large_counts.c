/* The program calls MPI-4's MPI_Alltoall_c, with and without gaps, in place, of zero and of many elements. */
#include "check.h"

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
static void plain(MPI_Comm comm, MPI_Count count) {
  const int rank = rank_in(comm), size = size_of_comm(comm);
  int* send = malloc(sizeof(int) * (size_t)(size * count + 1));
  int* recv = malloc(sizeof(int) * (size_t)(size * count + 1));
  for (int to = 0; to < size; ++to) {
    for (MPI_Count i = 0; i < count; ++i) send[to * count + i] = number(rank, to, (int)i);
  }
  MPI_OK(MPI_Alltoall_c(send, count, MPI_INT, recv, count, MPI_INT, comm));
  int wrong = 0;
  for (int from = 0; from < size; ++from) {
    for (MPI_Count i = 0; i < count; ++i) wrong += recv[from * count + i] != number(from, rank, (int)i);
  }
  CHECK(wrong == 0, "%d wrong of %d", wrong, (int)count);
  MPI_OK(MPI_Alltoall_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, send, count, MPI_INT, comm));
  CHECK(memcmp(send, recv, sizeof(int) * (size_t)(size * count)) == 0, "in place differs");
  free(send);
  free(recv);
}

/* Every second int is sent, and received in a row. */
static void with_gaps(MPI_Comm comm, MPI_Count count) {
  const int rank = rank_in(comm), size = size_of_comm(comm);
  MPI_Datatype gaps;
  MPI_Type_create_resized(MPI_INT, 0, 8, &gaps);
  MPI_Type_commit(&gaps);
  int* send = malloc(sizeof(int) * (size_t)(2 * size * count + 1));
  int* recv = malloc(sizeof(int) * (size_t)(size * count + 1));
  for (int to = 0; to < size; ++to) {
    for (MPI_Count i = 0; i < count; ++i) send[2 * (to * count + i)] = number(rank, to, (int)i);
  }
  MPI_OK(MPI_Alltoall_c(send, count, gaps, recv, count, MPI_INT, comm));
  int wrong = 0;
  for (int from = 0; from < size; ++from) {
    for (MPI_Count i = 0; i < count; ++i) wrong += recv[from * count + i] != number(from, rank, (int)i);
  }
  CHECK(wrong == 0, "%d wrong of %d with gaps", wrong, (int)count);
  MPI_Type_free(&gaps);
  free(send);
  free(recv);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Count counts[] = {0, 1, 5, 1000, 300000};
  for (int i = 0; i < 5; ++i) {
    plain(MPI_COMM_WORLD, counts[i]);
    with_gaps(MPI_COMM_WORLD, counts[i]);
  }
  const int result = verdict();
  MPI_Finalize();
  return result;
}
#else
int main(void) { return 77; }
#endif
