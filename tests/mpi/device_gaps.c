/* The program runs on memory of a device that is made of host memory (virtual_world/host_device.h), by crossrail or by an MPI library on copies.
 * Pending calls receive into the gaps of each other's datatypes, while the program writes what belongs to no call. It also uses operations of its
 * own, and frees datatypes and operations while a call is pending. HOST_DEVICE is the path of the driver.
 *
 *   device_gaps [CALLS [threads]]    threads: any thread may call MPI */

#include "check.h"
#include "device_memory_of_tests.h"

enum { kRanks = 16, kRows = 300, kColumns = 4 }; /* Each of three calls has a column, and one is the program's own. */

/* This is a column of so many rows. A block's columns follow those of the rank before. */
static MPI_Datatype column(int rows) {
  MPI_Datatype one, type;
  MPI_OK(MPI_Type_vector(rows, 1, kColumns, MPI_INT, &one));
  MPI_OK(MPI_Type_create_resized(one, 0, (MPI_Aint)sizeof(int) * rows * kColumns, &type));
  MPI_OK(MPI_Type_commit(&type));
  MPI_OK(MPI_Type_free(&one));
  return type;
}

typedef enum { kAlltoall, kAlltoallw, kAllgather, kForms } form;

/* Starts the call of one column. The program frees the type afterwards. */
static void start(form how, int* send, int* recv, int at, MPI_Comm comm, MPI_Request* request) {
  const int size = size_of_comm(comm);
  MPI_Datatype type = column(kRows), types[kRanks];
  int ones[kRanks], places[kRanks];
  for (int peer = 0; peer < size; ++peer) ones[peer] = 1, types[peer] = type, places[peer] = peer * kRows * kColumns * (int)sizeof(int);
  if (how == kAlltoall) MPI_OK(MPI_Ialltoall(send + at, 1, type, recv + at, 1, type, comm, request));
  if (how == kAlltoallw) MPI_OK(MPI_Ialltoallw(send + at, ones, places, types, recv + at, ones, places, types, comm, request));
  if (how == kAllgather) MPI_OK(MPI_Iallgather(send + at, 1, type, recv + at, 1, type, comm, request));
  if (how == kAlltoallw) MPI_OK(MPI_Wait(request, MPI_STATUS_IGNORE)); /* The arrays and types are needed until then. */
  MPI_Type_free(&type);
}

/* Completes the call by every function with which the program may wait or test. */
static void complete(MPI_Request* requests, int call) {
  const int count = kColumns - 1;
  int done = 0, which, indices[kColumns - 1];
  switch (call % 6) {
    case 0: MPI_OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)); break;
    case 1:
      for (int at = 0; at < count; ++at) MPI_OK(MPI_Waitany(count, requests, &which, MPI_STATUS_IGNORE));
      break;
    case 2:
      while (!done) MPI_OK(MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE));
      break;
    case 3:
      for (; done < count; done += which) MPI_OK(MPI_Waitsome(count, requests, &which, indices, MPI_STATUSES_IGNORE));
      break;
    case 4:
      for (int at = 0; at < count; ++at) {
        for (done = 0; !done;) MPI_OK(MPI_Request_get_status(requests[at], &done, MPI_STATUS_IGNORE));
      }
      /* fall through */
    default:
      for (int at = 0; at < count; ++at) MPI_OK(MPI_Wait(&requests[(at + call) % count], MPI_STATUS_IGNORE));
  }
}

static void columns(form how, int call, MPI_Comm comm) {
  const int rank = rank_in(comm), size = size_of_comm(comm);
  const size_t ints = (size_t)size * kRows * kColumns;
  int *const send = device_alloc(sizeof(int) * ints, 0), *const recv = device_alloc(sizeof(int) * ints, 0);
  int *const sent = touchable(send), *const got = touchable(recv);
  for (size_t at = 0; at < ints; ++at) sent[at] = number(rank, (int)at, call), got[at] = -1;
  MPI_Request requests[kColumns - 1];
  for (int at = 0; at < kColumns - 1; ++at) start(how, send, recv, at, comm, &requests[at]);
  for (size_t row = 0; row < (size_t)size * kRows; ++row) got[row * kColumns + kColumns - 1] = call;
  complete(requests, call);
  int wrong = 0;
  for (size_t at = 0; at < ints; ++at) {
    const int in_block = (int)(at % (kRows * kColumns)), from = (int)(at / (kRows * kColumns)), of = how == kAllgather ? in_block : rank * kRows * kColumns + in_block;
    wrong += got[at] != (at % kColumns == kColumns - 1 ? call : number(from, of, call));
  }
  CHECK(wrong == 0, "%d of %zu ints wrong in columns, form %d, call %d", wrong, ints, (int)how, call);
  MPI_OK(MPI_Barrier(comm));
  device_free(send);
  device_free(recv);
}

/* The operation does not commute. The first of the two wins, except where it lacks a value. */
static void first_known(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int at = 0; at < *count; ++at) {
    const int first = ((const int*)in)[at];
    if (first >= 0) ((int*)inout)[at] = first;
  }
}

static int known_by(int at, int size) { return at % (2 * size); } /* Returns the lowest rank that knows it. Nobody knows one half. */

static void own_operation(int call, MPI_Comm comm) {
  const int rank = rank_in(comm), size = size_of_comm(comm), count = 777;
  int *const send = device_alloc(sizeof(int) * (size_t)count, 0), *const recv = device_alloc(sizeof(int) * (size_t)count, 0);
  int *const sent = touchable(send), *const got = touchable(recv), in_place = call % 3 == 2, pending = call % 2;
  MPI_Op op;
  MPI_OK(MPI_Op_create(first_known, 0, &op));
  for (int at = 0; at < count; ++at) {
    got[at] = -7;
    (in_place ? got : sent)[at] = rank >= known_by(at, size) ? number(rank, at, call) & 0xffff : -1;
  }
  const void* const from = in_place ? MPI_IN_PLACE : send;
  if (pending) {
    MPI_Request request;
    MPI_OK(MPI_Iallreduce(from, recv, count, MPI_INT, op, comm, &request));
    MPI_OK(MPI_Op_free(&op));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    MPI_OK(MPI_Allreduce(from, recv, count, MPI_INT, op, comm));
    MPI_OK(MPI_Op_free(&op));
  }
  int wrong = 0;
  for (int at = 0; at < count; ++at) wrong += got[at] != (known_by(at, size) < size ? number(known_by(at, size), at, call) & 0xffff : -1);
  CHECK(wrong == 0, "%d wrong by an operation of the program's%s%s", wrong, pending ? ", pending" : "", in_place ? ", in place" : "");
  device_free(send);
  device_free(recv);
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_OK(MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level));
  open_driver();
  MPI_Comm again;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &again));
  for (int call = 0; call < (argc > 1 ? atoi(argv[1]) : 20); ++call) {
    for (int how = 0; how < kForms; ++how) columns((form)how, call, call % 2 ? again : MPI_COMM_WORLD);
    own_operation(call, call % 2 ? MPI_COMM_WORLD : again);
    own_operation(call, MPI_COMM_SELF);
  }
  MPI_OK(MPI_Comm_free(&again));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
