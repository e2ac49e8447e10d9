// Communicators have processes from outside the program's own MPI_COMM_WORLD, which may run without crossrail. The program has spawned them, without
// crossrail for "without", or with it for "with".
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { kCalls = 30, kInts = 3 };

static int value(int from, int to, int call) { return from * 1000003 + to * 1009 + call; }

static void exchange(MPI_Comm comm, int blocking) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int* const sent = malloc((size_t)size * kInts * sizeof(int));
  int* const received = malloc((size_t)size * kInts * sizeof(int));
  for (int call = 0; call < kCalls; ++call) {
    for (int at = 0; at < size * kInts; ++at) sent[at] = value(rank, at / kInts, call), received[at] = -1;
    if (blocking) {
      MPI_Alltoall(sent, kInts, MPI_INT, received, kInts, MPI_INT, comm);
    } else {
      MPI_Request request;
      MPI_Ialltoall(sent, kInts, MPI_INT, received, kInts, MPI_INT, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    int wrong = 0;
    for (int at = 0; at < size * kInts; ++at) wrong += received[at] != value(at / kInts, rank, call);
    CHECK(wrong == 0, "call %d: %d of %d elements are wrong", call, wrong, size * kInts);
  }
  free(sent);
  free(received);
}

static MPI_Comm spawn(char* program, int with) {
  char* arguments[] = {"-u", "LD_PRELOAD", program, "child", NULL};
  MPI_Comm children;
  if (with) {
    MPI_Comm_spawn(program, arguments + 3, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  } else {
    MPI_Comm_spawn("/usr/bin/env", arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  }
  return children;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm between, merged, again;
  MPI_Comm_get_parent(&between);
  const int is_child = between != MPI_COMM_NULL;
  if (!is_child) {
    exchange(MPI_COMM_WORLD, 1);
    between = spawn(argv[0], argc > 1 && strcmp(argv[1], "with") == 0);
  }
  MPI_Intercomm_merge(between, is_child, &merged);
  MPI_Comm_dup(merged, &again);
  exchange(merged, 1);
  exchange(again, 0);
  exchange(MPI_COMM_WORLD, 1);
  MPI_Comm_free(&again);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return is_child ? failed_checks != 0 : verdict();
}
