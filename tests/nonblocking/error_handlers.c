/* Ranks disagree about the size of a block in these exchanges. The error handler of their communicator is called by a thread of the program that
 * completes the request, at most once, and with the error that the call gives.
 *
 *   error_handlers [threads] */
#include <pthread.h>

#include "check.h"
#include "deadline.h"
#include "host.h"

enum { kSeconds = 30, kWays = 10 };

static pthread_t main_thread;
static int calls_here, calls_elsewhere, calls_by_others;

static void note(int* calls) {
  ++*calls;
  if (!pthread_equal(pthread_self(), main_thread)) ++calls_by_others;
}
static void handle_here(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  note(&calls_here);
}
static void handle_elsewhere(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  note(&calls_elsewhere);
}

static const char* const kNames[kWays] = {"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome", "Request_get_status", "PMPI_Wait"};

static int complete(int way, MPI_Request* request) {
  int code = MPI_SUCCESS, index, done = 0, indices[1];
  MPI_Status status[1];
  switch (way) {
    case 0: return MPI_Wait(request, status);
    case 9: return PMPI_Wait(request, status);
    case 1: return MPI_Waitall(1, request, status);
    case 2: return MPI_Waitany(1, request, &index, status);
    case 3: return MPI_Waitsome(1, request, &done, indices, status);
    case 4:
      while (!done && code == MPI_SUCCESS) code = MPI_Test(request, &done, status);
      return code;
    case 5:
      while (!done && code == MPI_SUCCESS) code = MPI_Testall(1, request, &done, status);
      return code;
    case 6:
      while (!done && code == MPI_SUCCESS) code = MPI_Testany(1, request, &index, &done, status);
      return code;
    case 7:
      while (done == 0 && code == MPI_SUCCESS) code = MPI_Testsome(1, request, &done, indices, status);
      return code;
    default:
      while (!done && code == MPI_SUCCESS) code = MPI_Request_get_status(*request, &done, status);
      if (*request == MPI_REQUEST_NULL) return code;
      const int at_end = MPI_Wait(request, status);
      return at_end == MPI_SUCCESS ? code : at_end;
  }
}

static void one_case(int way, int count, int late, MPI_Errhandler handler) {
  MPI_Comm comm;
  MPI_Request request;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_OK(checked_alltoall(comm, 3, way));
  MPI_OK(MPI_Comm_set_errhandler(comm, handler));
  const int rank = rank_in(comm), size = size_of_comm(comm), mine = count + (rank == 1);
  int* const send = calloc((size_t)(size * mine), sizeof(int));
  int* const recv = calloc((size_t)(size * mine), sizeof(int));
  calls_here = calls_elsewhere = calls_by_others = 0;
  if (late && rank == 0) usleep(3000);
  int code = MPI_Ialltoall(send, mine, MPI_INT, recv, mine, MPI_INT, comm, &request);
  const int started = code == MPI_SUCCESS;
  if (late && rank != 0) usleep(6000);
  if (started) code = complete(way, &request);
  CHECK(!started || request == MPI_REQUEST_NULL, "%s: the request has not been freed", kNames[way]);
  CHECK(code != MPI_SUCCESS, "%s: no error", kNames[way]);
  CHECK(calls_here + calls_elsewhere <= 1, "%s: handlers called %d times", kNames[way], calls_here + calls_elsewhere);
  CHECK(calls_by_others == 0, "%s: handlers called by another thread", kNames[way]);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  free(send);
  free(recv);
  MPI_OK(MPI_Comm_free(&comm));
}

static int class_of(int code) {
  int class = -1;
  MPI_OK(MPI_Error_class(code, &class));
  return class;
}

/* An exchange that fails, one that does not, and a message are completed together. Each has its own status. */
static void among_others(int some, MPI_Errhandler handler) {
  MPI_Comm bad, good;
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int indices[3] = {0, 1, 2}, done = 3, left = 3, code = MPI_SUCCESS, got = -1;
  int sent[64] = {0}, received[64], wrong[3] = {0};
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &bad));
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &good));
  MPI_OK(checked_alltoall(bad, 3, 1));
  MPI_OK(checked_alltoall(good, 3, 1));
  MPI_OK(MPI_Comm_set_errhandler(bad, handler));
  const int rank = rank_in(bad), size = size_of_comm(bad), token = rank, from = (rank + size - 1) % size;
  for (int to = 0; to < size; ++to) sent[to] = number(rank, to, 0);
  int other_sent[64] = {0}, other_received[64];
  calls_here = calls_elsewhere = calls_by_others = 0;
  MPI_OK(MPI_Irecv(&got, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &requests[0]));
  MPI_OK(MPI_Ialltoall(other_sent, 2 + (rank == 1), MPI_INT, other_received, 2 + (rank == 1), MPI_INT, bad, &requests[1]));
  MPI_OK(MPI_Ialltoall(sent, 1, MPI_INT, received, 1, MPI_INT, good, &requests[2]));
  MPI_OK(MPI_Comm_free(&bad)); /* After that its handler is not called; MPI_COMM_SELF's is. */
  MPI_OK(MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD));
  while (left > 0 && done > 0) {
    const int now = some ? MPI_Waitsome(3, requests, &done, indices, statuses) : MPI_Waitall(3, requests, statuses);
    int class = MPI_SUCCESS;
    if (now != MPI_SUCCESS) MPI_Error_class(now, &class);
    if (now != MPI_SUCCESS) CHECK(class == MPI_ERR_IN_STATUS, "code %d", now);
    for (int i = 0; i < done; ++i, --left) {
      if (indices[i] == 0) CHECK(statuses[i].MPI_SOURCE == from && statuses[i].MPI_TAG == 7, "message from %d", statuses[i].MPI_SOURCE);
      if (indices[i] != 0) CHECK(statuses[i].MPI_TAG == MPI_UNDEFINED || statuses[i].MPI_TAG == MPI_ANY_TAG, "tag %d", statuses[i].MPI_TAG);
      if (now == MPI_SUCCESS) continue;
      wrong[indices[i]] = statuses[i].MPI_ERROR;
      code = now;
    }
  }
  CHECK(code != MPI_SUCCESS, "no error among others");
  CHECK(wrong[0] == MPI_SUCCESS && class_of(wrong[1]) == MPI_ERR_TRUNCATE && wrong[2] == MPI_SUCCESS, "errors %d %d %d", wrong[0], wrong[1], wrong[2]);
  CHECK(calls_here + calls_elsewhere == 1 && calls_by_others == 0, "handlers called %d times", calls_here + calls_elsewhere);
  CHECK(got == from, "received %d", got);
  for (int i = 0; i < size; ++i) CHECK(received[i] == number(i, rank, 0), "the exchange that is right has %d", received[i]);
  MPI_OK(MPI_Comm_free(&good));
}

/* Codes are wanted on the communicator. Nobody else's handler, which would end the program, comes in. */
static void returned(void) {
  MPI_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  MPI_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  for (int way = 0; way < kWays; ++way) one_case(way, 100, way % 2, MPI_ERRORS_RETURN);
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Errhandler here, elsewhere;
  main_thread = pthread_self();
  MPI_OK(MPI_Comm_create_errhandler(handle_here, &here));
  MPI_OK(MPI_Comm_create_errhandler(handle_elsewhere, &elsewhere));
  MPI_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, elsewhere));
  MPI_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, elsewhere));
  for (int way = 0; way < kWays; ++way) {
    for (int late = 0; late < 2; ++late) {
      begin_case(kSeconds, "%s%s", kNames[way], late ? ", some ranks late" : "");
      one_case(way, way % 2 ? 5 : 20000, late, here);
    }
  }
  for (int round = 0; round < 10; ++round) {
    begin_case(kSeconds, "among others, round %d", round);
    among_others(round % 2, here);
  }
  begin_case(kSeconds, "MPI_ERRORS_RETURN");
  if (returned_errors_work()) returned();
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
