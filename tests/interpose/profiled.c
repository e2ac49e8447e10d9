// A tool in the program itself: it wraps MPI functions and calls their PMPI_ names, on all ranks or (as tools that
// sample do) on some. What all ranks call by either name is one and the same collective.
//
//   profiled all      every rank is wrapped
//   profiled some     rank 0 is not
//   profiled direct   rank 0 calls the PMPI_ names itself, the others are not wrapped
#include "../mpi/check.h"

static int wraps = 0, wrapped = 0;

#define PASS_ON(call)   \
  do {                  \
    wrapped += wraps;   \
    return P##call;     \
  } while (0)

int MPI_Alltoall(const void* s, int sc, MPI_Datatype st, void* r, int rc, MPI_Datatype rt, MPI_Comm comm) {
  PASS_ON(MPI_Alltoall(s, sc, st, r, rc, rt, comm));
}
int MPI_Alltoallv(const void* s, const int* sc, const int* sd, MPI_Datatype st, void* r, const int* rc, const int* rd, MPI_Datatype rt,
                  MPI_Comm comm) {
  PASS_ON(MPI_Alltoallv(s, sc, sd, st, r, rc, rd, rt, comm));
}
int MPI_Ialltoall(const void* s, int sc, MPI_Datatype st, void* r, int rc, MPI_Datatype rt, MPI_Comm comm, MPI_Request* request) {
  PASS_ON(MPI_Ialltoall(s, sc, st, r, rc, rt, comm, request));
}
