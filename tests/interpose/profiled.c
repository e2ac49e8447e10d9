// Tools wrap MPI functions and call their PMPI_ names, here in the program itself: on all ranks, or (as tools do that sample) on some. By either name
// it is one and the same collective.
//
//   profiled all       every rank is wrapped
//   profiled some      rank 0 is not
#include <dlfcn.h>

#include "../mpi/check.h"

enum { kCalls = 40, kInts = 3 };

static int wraps = 1, wrapped = 0;

// This rank calls MPI's name for it, or, unwrapped, what the program would call without the tool.
#define CALLED(name) (wraps ? P##name : (__typeof__(&name))dlsym(RTLD_NEXT, #name))

int MPI_Alltoall(const void* s, int sc, MPI_Datatype st, void* r, int rc, MPI_Datatype rt, MPI_Comm comm) {
  wrapped += wraps;
  return CALLED(MPI_Alltoall)(s, sc, st, r, rc, rt, comm);
}
int MPI_Ialltoall(const void* s, int sc, MPI_Datatype st, void* r, int rc, MPI_Datatype rt, MPI_Comm comm, MPI_Request* request) {
  wrapped += wraps;
  return CALLED(MPI_Ialltoall)(s, sc, st, r, rc, rt, comm, request);
}
int MPI_Barrier(MPI_Comm comm) {
  wrapped += wraps;
  return CALLED(MPI_Barrier)(comm);
}

static int value(int from, int to, int call) { return from * 1000003 + to * 1009 + call; }

static void exchange(MPI_Comm comm, int blocking) {
  int rank, size;
  MPI_OK(MPI_Comm_rank(comm, &rank));
  MPI_OK(MPI_Comm_size(comm, &size));
  int* const sent = malloc((size_t)size * kInts * sizeof(int));
  int* const received = malloc((size_t)size * kInts * sizeof(int));
  for (int call = 0; call < kCalls; ++call) {
    for (int at = 0; at < size * kInts; ++at) sent[at] = value(rank, at / kInts, call), received[at] = -1;
    if (blocking) {
      MPI_OK(MPI_Alltoall(sent, kInts, MPI_INT, received, kInts, MPI_INT, comm));
    } else {
      MPI_Request request;
      MPI_OK(MPI_Ialltoall(sent, kInts, MPI_INT, received, kInts, MPI_INT, comm, &request));
      MPI_OK(PMPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    int wrong = 0;
    for (int at = 0; at < size * kInts; ++at) wrong += received[at] != value(at / kInts, rank, call);
    CHECK(wrong == 0, "call %d: %d of %d elements are wrong", call, wrong, size * kInts);
    if (call % 8 == 7) MPI_OK(MPI_Barrier(comm));
  }
  free(sent);
  free(received);
}

int main(int argc, char** argv) {
  MPI_OK(MPI_Init(&argc, &argv));
  int rank;
  MPI_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  wraps = rank > 0 || argc < 2 || strcmp(argv[1], "some") != 0;
  exchange(MPI_COMM_WORLD, 1);
  MPI_Comm other;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  exchange(other, 0);
  MPI_OK(MPI_Comm_free(&other));
  CHECK(wrapped == wraps * 2 * (kCalls + kCalls / 8), "%d calls are wrapped", wrapped);
  MPI_OK(MPI_Finalize());
  return verdict();
}
