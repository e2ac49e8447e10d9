/* This stands for crossrail in front of a bench program, with nonblocking calls whose behaviour is known. The data are there at once, but the call
 * has not ended before a time that passes by itself (all of it hides behind work) and a time that MPI_Wait works for (none of it does). DELAY_US and
 * WORK_US give them. The one algorithm is "delayed". MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw stay native, but spoil the byte of what is
 * received at the offset SPOIL, where that is set. MPI_Alltoall takes LATE_US longer where that is set, and where LATE_CALLS is set, too, so many
 * calls do: those behind the first 25. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static const char *last = "native";
static double ready;

static double seconds(const char *variable) { return atof(getenv(variable)) * 1e-6; }

static void spin_until(double when) {
  while (MPI_Wtime() < when) {
  }
}

int crossrail_set(const char *variable, const char *value) {
  const char *refused = getenv("REFUSES");
  return strcmp(value, "unknown") == 0 || (refused != NULL && strcmp(variable, refused) == 0);
}

const char *crossrail_last_algorithm(void) { return last; }

// The bench's own calls on one rank have smaller buffers.
static int spoiled(int code, void *to, MPI_Comm comm) {
  const char *spoil = getenv("SPOIL");
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  if (spoil && ranks > 1) ((char *)to)[atoi(spoil)] ^= 1;
  last = "native";
  return code;
}

static void be_late(MPI_Comm comm) {
  static int calls;
  const char *late = getenv("LATE_CALLS");
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  if (ranks == 1 || getenv("LATE_US") == NULL) return;
  ++calls;
  if (late == NULL || (calls > 25 && calls <= 25 + atoi(late))) spin_until(MPI_Wtime() + seconds("LATE_US"));
}

int MPI_Alltoall(const void *from, int count, MPI_Datatype type, void *to, int received, MPI_Datatype as, MPI_Comm comm) {
  be_late(comm);
  return spoiled(PMPI_Alltoall(from, count, type, to, received, as, comm), to, comm);
}

int MPI_Alltoallv(const void *from, const int *counts, const int *places, MPI_Datatype type, void *to, const int *received, const int *at, MPI_Datatype as,
                  MPI_Comm comm) {
  return spoiled(PMPI_Alltoallv(from, counts, places, type, to, received, at, as, comm), to, comm);
}

int MPI_Alltoallw(const void *from, const int *counts, const int *places, const MPI_Datatype *types, void *to, const int *received, const int *at,
                  const MPI_Datatype *as, MPI_Comm comm) {
  return spoiled(PMPI_Alltoallw(from, counts, places, types, to, received, at, as, comm), to, comm);
}

int MPI_Ialltoall(const void *from, int count, MPI_Datatype type, void *to, int received, MPI_Datatype as, MPI_Comm comm,
                  MPI_Request *request) {
  const int code = PMPI_Alltoall(from, count, type, to, received, as, comm);
  last = "delayed";
  ready = MPI_Wtime() + seconds("DELAY_US");
  *request = MPI_REQUEST_NULL;
  return code;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
  if (ready > 0) {
    spin_until(ready);
    spin_until(MPI_Wtime() + seconds("WORK_US"));
    ready = 0;
  }
  return PMPI_Wait(request, status);
}
