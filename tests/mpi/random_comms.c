#include "random_comms.h"

#include "random_numbers.h"

static void add(Comms* comms, const char* name, MPI_Comm comm, int inter) {
  comms->comm[comms->count] = comm;
  comms->name[comms->count] = name;
  comms->inter[comms->count++] = inter;
}

static void add_group(Comms* comms, int size) {
  MPI_Group world, odd;
  MPI_Comm comm;
  int range[1][3] = {{size - 1, size > 1, -2}}; /* It takes about the odd ranks, backwards. */
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, range, &odd);
  MPI_Comm_create(MPI_COMM_WORLD, odd, &comm);
  MPI_Group_free(&odd);
  MPI_Group_free(&world);
  add(comms, "every second, backwards", comm, 0);
}

static void add_inter(Comms* comms, int rank, int size) {
  MPI_Comm half, inter, merged;
  const int first = size / 3 + 1; /* The halves are uneven. */
  const int low = rank < first;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? first : 0, 99, &inter);
  MPI_Intercomm_merge(inter, low, &merged);
  MPI_Comm_free(&half);
  add(comms, "inter", inter, 1);
  add(comms, "merged", merged, 0);
}

Comms make_comms(unsigned seed) {
  Comms comms = {.count = 0};
  Random random = random_from(seed);
  int rank, size;
  MPI_Comm made;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  add(&comms, "world", MPI_COMM_WORLD, 0);
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  add(&comms, "dup", made, 0);
  MPI_Comm_split(MPI_COMM_WORLD, rank <= size / 3, rank, &made);
  add(&comms, "split, uneven", made, 0);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &made);
  add(&comms, "reversed", made, 0);
  int place = 0;
  for (int i = 0; i <= rank; ++i) place = random_below(&random, 1000);
  MPI_Comm_split(MPI_COMM_WORLD, 0, place, &made);
  add(&comms, "permuted", made, 0);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, -rank, &made);
  add(&comms, "even ranks, reversed", made, 0);
  add(&comms, "self", MPI_COMM_SELF, 0);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &made);
  add(&comms, "of one rank", made, 0);
  add_group(&comms, size);
  if (size > 1) add_inter(&comms, rank, size);
  return comms;
}

void free_comms(Comms* comms) {
  for (int i = 0; i < comms->count; ++i) {
    MPI_Comm* comm = &comms->comm[i];
    if (*comm != MPI_COMM_NULL && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF) MPI_Comm_free(comm);
  }
}
