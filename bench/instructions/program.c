// This program makes one kind of call many times, so that count.py can count instructions: program CALL COUNT [BYTES [KIND]].
//   CALL   alltoall, allreduce, allgather, ialltoall, iallreduce
//   KIND   usual: the same call again and again; sizes: BYTES different sizes in turn; alone: on MPI_COMM_SELF; fresh: on a new communicator
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void make(const char* call, char* from, char* to, int bytes, MPI_Comm comm);
__attribute__((noinline)) void make(const char* call, char* from, char* to, int bytes, MPI_Comm comm) {
  MPI_Request request;
  if (strcmp(call, "alltoall") == 0) {
    MPI_Alltoall(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, comm);
  } else if (strcmp(call, "allgather") == 0) {
    MPI_Allgather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, comm);
  } else if (strcmp(call, "allreduce") == 0) {
    MPI_Allreduce(from, to, bytes, MPI_UNSIGNED_CHAR, MPI_BOR, comm);
  } else if (strcmp(call, "ialltoall") == 0) {
    MPI_Ialltoall(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(call, "iallreduce") == 0) {
    MPI_Iallreduce(from, to, bytes, MPI_UNSIGNED_CHAR, MPI_BOR, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    fprintf(stderr, "no such call: %s\n", call);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const long count = atol(argv[2]);
  const int bytes = argc > 3 ? atoi(argv[3]) : 8;
  const char* const kind = argc > 4 ? argv[4] : "usual";
  MPI_Comm comm = MPI_COMM_WORLD;
  if (strcmp(kind, "alone") == 0) comm = MPI_COMM_SELF;
  if (strcmp(kind, "fresh") == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  char *from = calloc((size_t)ranks, (size_t)bytes), *to = calloc((size_t)ranks, (size_t)bytes);
  for (long one = 0; one < count; ++one) {
    const int length = strcmp(kind, "sizes") == 0 ? 1 + (int)(one % bytes) : bytes;
    make(argv[1], from, to, length, comm);
  }
  free(from);
  free(to);
  if (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
