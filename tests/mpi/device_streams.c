/* Processes call crossrail_alltoall_on_stream, crossrail_alltoallv_on_stream, crossrail_allgather_on_stream and
 * crossrail_reduce_scatter_block_on_stream on a device that is made of host memory (virtual_world/host_device.h). Calls are in order with the
 * stream's other work, on the default stream too, ask no other rank once they may, and refuse what they cannot do. HOST_DEVICE is the path of
 * the driver.
 *
 *   device_streams CALLS */
#include "device_streams.h"

/* Rounds of other data go through the same device memory, and nobody waits between them. */
static void rounds(int count, int calls, void* stream) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  const size_t all = (size_t)(size * count), bytes = sizeof(int) * all;
  int *send = device_alloc(bytes, 0), *recv = device_alloc(bytes, 0);
  int *filled = malloc(bytes * (size_t)calls), *got = malloc(bytes * (size_t)calls);
  for (int call = 0; call < calls; ++call) {
    int *from = filled + (size_t)call * all, *to = got + (size_t)call * all;
    for (int at = 0; at < size * count; ++at) from[at] = number(rank, at / count, at % count + call);
    const crossrail_block in = {send, from, bytes}, out = {to, recv, bytes};
    copy(stream, &in);
    CHECK(on_stream(send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD, stream) == MPI_SUCCESS, "call %d of %d ints refused", call, count);
    copy(stream, &out);
  }
  wait_for(stream);
  int wrong = 0;
  for (int call = 0; call < calls; ++call) {
    for (int at = 0; at < size * count; ++at) wrong += got[(size_t)call * all + (size_t)at] != number(at / count, rank, at % count + call);
  }
  CHECK(wrong == 0, "%d wrong of blocks of %d ints", wrong, count);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  device_free(send);
  device_free(recv);
  free(filled);
  free(got);
}

enum { kMost = 3000, kRanks = 16 };

static int length(int from, int to, int call) { return (int)((unsigned)number(from, to, call) % 7u == 0 ? 0 : (unsigned)number(to, from, call) % kMost); }

typedef struct {
  int counts[kRanks], places[kRanks];
} lists;

/* The blocks have one int between them. */
static void lay_out(lists* sent, lists* received, int call) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  for (int peer = 0, out = 0, in = 0; peer < size; ++peer) {
    sent->counts[peer] = length(rank, peer, call);
    received->counts[peer] = length(peer, rank, call);
    sent->places[peer] = out;
    received->places[peer] = in;
    out += sent->counts[peer] + 1;
    in += received->counts[peer] + 1;
  }
}

/* Calls with the same device memory share this. `kept` is what the stream brings there and back, and each call has one. */
typedef struct {
  int calls;
  size_t all; /* A side has `all` ints. */
  void* stream;
  int *send, *recv;
  lists* device; /* They are of what is sent and of what is received. */
  int *filled, *got, *poison;
  lists* kept;
  MPI_Datatype from_bottom; /* It is an int with the address of `send` in it. */
} vectors;

static vectors open_vectors(int calls, void* stream) {
  vectors v = {calls, (size_t)(size_of_comm(MPI_COMM_WORLD) * (kMost + 1)), stream, NULL, NULL, NULL, NULL, NULL, NULL, NULL, MPI_DATATYPE_NULL};
  const size_t bytes = sizeof(int) * v.all;
  v.send = device_alloc(bytes, 0), v.recv = device_alloc(bytes, 0), v.device = device_alloc(2 * sizeof(lists), 0);
  v.filled = malloc(bytes * (size_t)calls), v.got = malloc(bytes * (size_t)calls), v.poison = malloc(bytes);
  v.kept = malloc(2 * sizeof(lists) * (size_t)calls);
  memset(v.poison, 0xEE, bytes);
  const MPI_Aint address = (MPI_Aint)(intptr_t)v.send;
  MPI_Datatype there;
  MPI_Type_create_hindexed(1, (int[]){1}, &address, MPI_INT, &there);
  MPI_Type_create_resized(there, address, sizeof(int), &v.from_bottom);
  MPI_Type_commit(&v.from_bottom);
  MPI_Type_free(&there);
  return v;
}

static void close_vectors(vectors* v) {
  void* const device[] = {v->send, v->recv, v->device};
  void* const host[] = {v->filled, v->got, v->poison, v->kept};
  for (size_t i = 0; i < sizeof device / sizeof device[0]; ++i) device_free(device[i]);
  for (size_t i = 0; i < sizeof host / sizeof host[0]; ++i) free(host[i]);
  MPI_Type_free(&v->from_bottom);
}

/* Every other call has some of its arrays in host memory, which is overwritten once the call has returned. What comes is received as bytes. */
static void vector_call(vectors* v, int call) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD), some = call % 2;
  int *from = v->filled + (size_t)call * v->all, *to = v->got + (size_t)call * v->all;
  lists *sent = v->kept + 2 * call, *received = sent + 1;
  lay_out(sent, received, call);
  for (int peer = 0; peer < size; ++peer) {
    for (int at = 0; at < sent->counts[peer]; ++at) from[sent->places[peer] + at] = number(rank, peer, at + call);
    received->counts[peer] *= (int)sizeof(int);
    received->places[peer] *= (int)sizeof(int);
  }
  const size_t bytes = sizeof(int) * v->all;
  const crossrail_block in[] = {{v->send, from, bytes}, {v->recv, v->poison, bytes}, {v->device, sent, 2 * sizeof(lists)}}, out = {to, v->recv, bytes};
  for (int i = 0; i < 3; ++i) copy(v->stream, &in[i]);
  lists host[2] = {*sent, *received};
  const lists* const device = v->device;
  const int absolute = call % 3 == 0;
  CHECK(vector_on_stream(absolute ? MPI_BOTTOM : v->send, some ? host[0].counts : device[0].counts, device[0].places,
                         absolute ? v->from_bottom : MPI_INT, v->recv, device[1].counts,
                         some ? host[1].places : device[1].places, MPI_BYTE, MPI_COMM_WORLD, v->stream) == MPI_SUCCESS, "call %d of vectors refused", call);
  memset(host, 0x55, sizeof host);
  copy(v->stream, &out);
}

static int wrong_ints(const vectors* v, int call) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  lists sent, received;
  int *const to = v->got + (size_t)call * v->all, wrong = 0;
  lay_out(&sent, &received, call);
  for (int peer = 0; peer < size; ++peer) {
    int* const block = to + received.places[peer];
    for (int at = 0; at < received.counts[peer]; ++at) wrong += block[at] != number(peer, rank, at + call);
    memcpy(block, v->poison, sizeof(int) * (size_t)received.counts[peer]);
  }
  for (size_t at = 0; at < v->all; ++at) wrong += to[at] != v->poison[0];
  return wrong;
}

/* The next call, and no other one, tells the sender what is wrong. It moves its own blocks nevertheless. */
static void told_late(const vectors* v) {
  const int last = rank_in(MPI_COMM_WORLD) == size_of_comm(MPI_COMM_WORLD) - 1;
  for (int again = 0; again < 2; ++again) {
    lists one = {{0}, {0}}, nothing = {{0}, {0}};
    one.counts[0] = again == 0 && last ? 1 : 0;
    CHECK(vector_on_stream(v->send, one.counts, one.places, MPI_INT, v->recv, nothing.counts, nothing.places, MPI_INT, MPI_COMM_WORLD, v->stream) ==
          MPI_SUCCESS, "no bytes are refused");
    wait_for(v->stream);
    MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
    const int code = on_stream(v->send, 1, MPI_INT, v->recv, 1, MPI_INT, MPI_COMM_WORLD, v->stream);
    CHECK((code == MPI_SUCCESS) == (again == 1 || !last), "after a block that was cut off: %d", code);
    wait_for(v->stream);
    MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

/* The stream brings the lengths to the device before the call. They differ each time, and nobody waits. */
static void vector_rounds(int calls, void* stream) {
  vectors v = open_vectors(calls, stream);
  for (int call = 0; call < calls; ++call) vector_call(&v, call);
  wait_for(stream);
  int wrong = 0;
  for (int call = 0; call < calls; ++call) wrong += wrong_ints(&v, call);
  CHECK(wrong == 0, "%d wrong of vectors", wrong);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  told_late(&v);
  close_vectors(&v);
}

static void vector_refusals(void) {
  const int rank = rank_in(MPI_COMM_WORLD);
  sides s = open_sides();
  const int nothing[kRanks] = {0};
#define REFUSED(from, sent, to, received) \
  CHECK(vector_on_stream(from, nothing, nothing, sent, to, nothing, nothing, received, MPI_COMM_WORLD, NULL) != MPI_SUCCESS, #from " " #sent " " #received)
  REFUSED(rank == 0 ? s.host : s.send, MPI_INT, s.recv, MPI_INT);
  REFUSED(s.send, MPI_INT, rank == 1 ? s.host : s.recv, MPI_INT);
  REFUSED(s.send, rank == 1 ? s.gaps : MPI_INT, s.recv, MPI_INT);
  REFUSED(s.send, MPI_INT, s.recv, s.gaps);
  REFUSED(rank == 1 ? MPI_IN_PLACE : (void*)s.send, MPI_INT, s.recv, MPI_INT);
#undef REFUSED
  close_sides(&s);
}

/* In a communicator's first call all ranks refuse alike what one of them cannot do. In its later ones ranks ask each other nothing if data go by packets:
 * the last rank makes calls that it cannot make, and all make the right one after them. */
static void refusals(void) {
  const int rank = rank_in(MPI_COMM_WORLD), last = size_of_comm(MPI_COMM_WORLD) - 1;
  const char* const algorithm = getenv("CROSSRAIL_ALLTOALL");
  const int packets = algorithm == NULL || strstr(algorithm, "ipc_") == NULL;
  sides s = open_sides();
  MPI_Comm fresh;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &fresh));
#define REFUSED(from, sent, to, received, comm) \
  CHECK(on_stream(from, 1, sent, to, 1, received, comm, NULL) != MPI_SUCCESS, #from " " #sent " " #to " " #received)
  REFUSED(rank == 0 ? s.host : s.send, MPI_INT, s.recv, MPI_INT, fresh);
  REFUSED(s.send, rank == 1 ? s.gaps : MPI_INT, s.recv, MPI_INT, fresh);
  REFUSED(s.send, MPI_INT, s.recv, s.gaps, fresh);
  REFUSED(MPI_IN_PLACE, MPI_INT, s.recv, MPI_INT, fresh);
  for (int again = 0; packets && rank == last && again < 3; ++again) {
    REFUSED(s.host, MPI_INT, s.recv, MPI_INT, MPI_COMM_WORLD);
    REFUSED(s.send, MPI_INT, s.host, MPI_INT, MPI_COMM_WORLD);
    REFUSED(s.send, s.gaps, s.recv, MPI_INT, MPI_COMM_WORLD);
    REFUSED(MPI_IN_PLACE, MPI_INT, s.recv, MPI_INT, MPI_COMM_WORLD);
  }
#undef REFUSED
  CHECK(on_stream(s.send, 1, MPI_INT, s.recv, 1, MPI_INT, MPI_COMM_WORLD, NULL) == MPI_SUCCESS, "a call after one that was wrong is refused");
  MPI_OK(MPI_Comm_free(&fresh));
  close_sides(&s);
}

typedef int scatter_on_stream_function(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, void*);

/* Returns what one rank gets of an allgather, or of a sum that is scattered. */
static int gathered(int rank, int peer, int at, int call, int sums) {
  if (!sums) return number(peer, peer, at + call);
  int sum = 0;
  for (int from = 0; from < size_of_comm(MPI_COMM_WORLD); ++from) sum = (int)((unsigned)sum + (unsigned)number(from, rank, at + call));
  return sum;
}

static void gathering_rounds(int count, int calls, void* stream) {
  on_stream_function* const gather = (on_stream_function*)dlsym(RTLD_DEFAULT, "crossrail_allgather_on_stream");
  scatter_on_stream_function* const scatter = (scatter_on_stream_function*)dlsym(RTLD_DEFAULT, "crossrail_reduce_scatter_block_on_stream");
  CHECK(gather != NULL && scatter != NULL, "a function is missing");
  if (gather == NULL || scatter == NULL) return;
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  const size_t bytes = sizeof(int) * (size_t)count * (size_t)size;
  int *send = device_alloc(bytes, 0), *recv = device_alloc(bytes, 0), *filled = malloc(bytes), *got = malloc(bytes);
  for (int call = 0; call < calls; ++call) {
    const int sums = call % 2, in_place = call % 4 == 2, sent = sums ? size : 1, received = sums ? 1 : size;
    int wrong = 0;
    for (int peer = 0; peer < sent; ++peer) {
      for (int at = 0; at < count; ++at) filled[peer * count + at] = number(rank, sums ? peer : rank, at + call);
    }
    memset(got, 0xEE, bytes);
    const size_t block = sizeof(int) * (size_t)count;
    const crossrail_block in = {in_place ? recv + rank * count : send, filled, block * (size_t)sent}, poison = {recv, got, bytes}, out = {got, recv, bytes};
    copy(stream, &poison);
    copy(stream, &in);
    CHECK((sums ? scatter(send, recv, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, stream)
                : gather(in_place ? MPI_IN_PLACE : send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD, stream)) == MPI_SUCCESS, "call %d refused", call);
    copy(stream, &out);
    wait_for(stream);
    for (int peer = 0; peer < received; ++peer) {
      for (int at = 0; at < count; ++at) wrong += got[peer * count + at] != gathered(rank, peer, at, call, sums);
    }
    CHECK(wrong == 0, "%d of %d ints, call %d: %d wrong", rank, count, call, wrong);
  }
  CHECK(scatter(MPI_IN_PLACE, recv, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, stream) != MPI_SUCCESS, "a reduction in place is not refused");
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  device_free(send);
  device_free(recv);
  free(filled);
  free(got);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 10;
  open_driver();
  CHECK(on_stream != NULL && vector_on_stream != NULL, "a function is missing");
  if (on_stream == NULL || vector_on_stream == NULL) return verdict();
  void* stream = open_stream();
  const int counts[] = {1, 7, 1023, 1024, 20000};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    rounds(counts[i], calls, stream);
    rounds(counts[i], calls, NULL);
    refusals();
    gathering_rounds(counts[i], calls, stream);
  }
  vector_rounds(calls, stream);
  vector_refusals();
  vector_rounds(calls, NULL);
  close_stream(stream);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
