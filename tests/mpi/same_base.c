/* One rank gives the same address for what it sends and what it receives, with types that touch different bytes. That is legal, and no library of the
 * MPICH family refuses it. The other ranks have two buffers.
 *
 *   same_base [CALLS] */
#include "check.h"

enum { kMost = 30000 };

/* Describes every other int. Type `odd` begins with the second one. */
static MPI_Datatype every_other(int odd) {
  MPI_Datatype moved, type;
  const int one = 1;
  const MPI_Aint at = odd ? (MPI_Aint)sizeof(int) : 0;
  const MPI_Datatype of = MPI_INT;
  MPI_OK(MPI_Type_create_struct(1, &one, &at, &of, &moved));
  MPI_OK(MPI_Type_create_resized(moved, 0, 2 * sizeof(int), &type));
  MPI_OK(MPI_Type_commit(&type));
  MPI_OK(MPI_Type_free(&moved));
  return type;
}

/* Exchanges `count` elements with each rank, sent from even places and received at odd ones. `special` has one array, the others have two. */
static void exchange(MPI_Comm comm, int count, int special, int vector) {
  const int rank = rank_in(comm), size = size_of_comm(comm);
  const int all = 2 * size * count;
  int* from = malloc(sizeof(int) * (size_t)(all + 1));
  int* to = rank == special ? from : malloc(sizeof(int) * (size_t)(all + 1));
  memset(to, 0xee, sizeof(int) * (size_t)(all + 1));
  for (int i = 0; i < size * count; ++i) from[2 * i] = number(rank, i / count, i % count);
  MPI_Datatype even = every_other(0), odd = every_other(1);
  int counts[64], displacements[64];
  for (int i = 0; i < size; ++i) {
    counts[i] = count;
    displacements[i] = i * count;
  }
  if (vector) {
    MPI_OK(MPI_Alltoallv(from, counts, displacements, even, to, counts, displacements, odd, comm));
  } else {
    MPI_OK(MPI_Alltoall(from, count, even, to, count, odd, comm));
  }
  int wrong = 0;
  for (int i = 0; i < size * count; ++i) wrong += to[2 * i + 1] != number(i / count, rank, i % count);
  for (int i = 0; i < size * count; ++i) wrong += from[2 * i] != number(rank, i / count, i % count);
  CHECK(wrong == 0, "%d wrong elements of %d for each of %d ranks", wrong, count, size);
  MPI_OK(MPI_Type_free(&even));
  MPI_OK(MPI_Type_free(&odd));
  if (to != from) free(to);
  free(from);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 40;
  const int counts[] = {1, 40, 3000, kMost};
  for (int i = 0; i < calls; ++i) exchange(MPI_COMM_WORLD, counts[i % 4], i / 8 % (size_of_comm(MPI_COMM_WORLD) + 1), i / 4 % 2);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
