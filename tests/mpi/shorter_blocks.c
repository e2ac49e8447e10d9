/* Receivers of MPI_Alltoallv and MPI_Alltoallw expect more than is sent, as they may of single messages, with which results are compared byte by
 * byte. What comes is there, and the rest of a block is as it was, in rows of bytes and with gaps.
 *
 *   shorter_blocks CALLS [LARGEST]      bytes of the largest block, about */
#include "check.h"
#include "persistent.h"
#include "random_numbers.h"

enum { kMostRanks = 8, kInt = sizeof(int) };

typedef struct {
  int sent, expected; /* They are in ints. */
} Lengths;

static int largest = 30000;

/* Returns the lengths of a block, the same on every rank. An empty block is empty on both sides. */
static Lengths lengths_of(int call, int source, int destination) {
  Random random = random_from((uint64_t)call * 1000003u + (uint64_t)(source * 1009 + destination));
  const int most = (call % 3 == 0 ? largest : call % 3 == 1 ? 2100 : 30) / kInt + 2;
  Lengths lengths = {0, 0};
  if (random_below(&random, 6) == 0) return lengths;
  lengths.sent = 1 + random_below(&random, most);
  const int shorter = source != destination && call % 4 != 0 && random_below(&random, 2) == 0;
  lengths.expected = lengths.sent + (shorter ? 1 + random_below(&random, 2 * most) : 0);
  return lengths;
}

typedef struct {
  unsigned char *send, *recv, *wanted;
  size_t bytes;
  int out[kMostRanks], in[kMostRanks], out_places[kMostRanks], in_places[kMostRanks];
  MPI_Datatype out_types[kMostRanks], in_types[kMostRanks];
} Call;

/* Chooses ints in a row, or every second one, as one element for all or one for each. */
static void choose_type(MPI_Datatype* type, int* count, int ints, int kind) {
  *type = MPI_INT;
  *count = ints;
  if (kind == 0) return;
  MPI_Type_vector(kind == 1 ? ints : 1, 1, 2, MPI_INT, type);
  if (kind == 2) {
    MPI_Datatype one = *type;
    MPI_Type_create_resized(one, 0, 2 * kInt, type);
    MPI_Type_free(&one);
  }
  MPI_Type_commit(type);
  *count = kind == 1 ? 1 : ints;
}

static void make(Call* call, int number, int gaps) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  int at = 64, to = 64;
  for (int peer = 0; peer < size; ++peer) {
    const Lengths out = lengths_of(number, rank, peer), in = lengths_of(number, peer, rank);
    choose_type(&call->out_types[peer], &call->out[peer], out.sent, gaps ? (number + peer) % 3 : 0);
    choose_type(&call->in_types[peer], &call->in[peer], in.expected, gaps ? (number + rank + peer) % 3 : 0);
    call->out_places[peer] = at;
    call->in_places[peer] = to;
    at += (2 * out.sent + 1) * kInt;
    to += (2 * in.expected + 1) * kInt;
  }
  call->bytes = (size_t)(at > to ? at : to) + 64;
  call->send = malloc(call->bytes);
  call->recv = malloc(call->bytes);
  call->wanted = malloc(call->bytes);
  Random random = random_from((uint64_t)(number * 31 + rank));
  for (size_t i = 0; i < call->bytes; ++i) call->send[i] = (unsigned char)random_below(&random, 256);
  memset(call->recv, 0xEE, call->bytes);
  memset(call->wanted, 0xEE, call->bytes);
}

static void define(const Call* call) {
  MPI_Request requests[2 * kMostRanks];
  const int size = size_of_comm(MPI_COMM_WORLD);
  for (int peer = 0; peer < size; ++peer) {
    MPI_OK(MPI_Irecv(call->wanted + call->in_places[peer], call->in[peer], call->in_types[peer], peer, 7, MPI_COMM_WORLD, &requests[2 * peer]));
    MPI_OK(MPI_Isend(call->send + call->out_places[peer], call->out[peer], call->out_types[peer], peer, 7, MPI_COMM_WORLD, &requests[2 * peer + 1]));
  }
  MPI_OK(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
}

static void wait_for(MPI_Request* request) { MPI_OK(MPI_Wait(request, MPI_STATUS_IGNORE)); }

static void exchange(Call* call, int form, int gaps, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (form == 0 && gaps) {
    MPI_OK(MPI_Alltoallw(call->send, call->out, call->out_places, call->out_types, call->recv, call->in, call->in_places, call->in_types, comm));
  } else if (form == 1) {
    MPI_OK(MPI_Ialltoallw(call->send, call->out, call->out_places, call->out_types, call->recv, call->in, call->in_places, call->in_types, comm, &request));
    wait_for(&request);
#if HAVE_PERSISTENT
  } else if (form == 2) {
    MPI_OK(MPI_Alltoallw_init(call->send, call->out, call->out_places, call->out_types, call->recv, call->in, call->in_places, call->in_types, comm,
                              MPI_INFO_NULL, &request));
    for (int start = 0; start < 2; ++start) {
      MPI_OK(MPI_Start(&request));
      wait_for(&request);
    }
    MPI_OK(MPI_Request_free(&request));
#endif
  } else {
    for (int peer = 0; peer < size_of_comm(comm); ++peer) call->out_places[peer] /= kInt, call->in_places[peer] /= kInt;
    if (gaps) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_OK(MPI_Alltoallv(call->send, call->out, call->out_places, MPI_INT, call->recv, call->in, call->in_places, MPI_INT, comm));
  }
}

static void one_call(int number, MPI_Comm comm) {
  const int form = number % 8 == 5 ? 1 : number % 16 == 7 ? 2 * HAVE_PERSISTENT : 0, gaps = form > 0 || number % 2;
  Call call;
  make(&call, number, gaps);
  define(&call);
  exchange(&call, form, gaps, comm);
  size_t wrong = 0;
  for (size_t i = 0; i < call.bytes; ++i) wrong += call.recv[i] != call.wanted[i];
  CHECK(wrong == 0, "call %d: %zu bytes are wrong", number, wrong);
  for (int peer = 0; peer < size_of_comm(comm); ++peer) {
    if (call.out_types[peer] != MPI_INT) MPI_Type_free(&call.out_types[peer]);
    if (call.in_types[peer] != MPI_INT) MPI_Type_free(&call.in_types[peer]);
  }
  free(call.send);
  free(call.recv);
  free(call.wanted);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const int calls = argc > 1 ? atoi(argv[1]) : 60;
  if (argc > 2) largest = atoi(argv[2]);
  MPI_Comm comm;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int number = 0; number < calls && failed_checks == 0; ++number) one_call(number, comm);
  MPI_Comm_free(&comm);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
