/* Calls on one communicator, each of which differs from the call before in at most one thing: its buffers, its count, its type or its operation, whether
 * it is in place, or the collective itself. A library that remembers something of the last call must not take it for this one.
 *
 *   like_the_last SEED CALLS [refusals]
 *
 * With `refusals`, some calls have arguments that the MPI library refuses. */
#include "check.h"

enum { kMost = 64, kPlaces = 3, kGuard = 8 };
enum Kind { alltoall, allreduce, allgather, reduce_scatter_block, kKinds };
enum Layout { row, pairs, gaps, kLayouts };

static unsigned state;
static int below(int limit) { return (int)((state = state * 1103515245u + 12345u) >> 16) % limit; }

static struct {
  enum Kind kind;
  int count;       /* It counts the elements of a block and is even. */
  int type, op;    /* These two are of reductions. */
  enum Layout send_layout, recv_layout;
  int in_place, same_buffers, negative;
  int send_at, recv_at;
} call;

static int rank, size, step, refusals;
static int memory[2][kPlaces][2 * (16 * kMost + kGuard)];

static const int kCounts[] = {0, 2, 2, 4, 64};

/* All ranks change the same, except for buffers and layouts, which are each rank's own. */
static void change(unsigned* own) {
  call.same_buffers = call.negative = 0;
  switch (below(9)) {
    case 0: call.kind = (enum Kind)below(kKinds); break;
    case 1: call.count = kCounts[below(5)]; break;
    case 2: call.type = below(3); break;
    case 3: call.op = below(3); break;
    case 4: call.in_place = below(2); break;
    case 5: call.same_buffers = refusals && call.kind == allreduce && !call.in_place && call.count > 1; break;
    case 6: call.negative = refusals && call.kind == allreduce && !call.in_place; break;
    default: break;
  }
  const unsigned shared = state;
  state = *own;
  if (below(2)) call.send_at = below(kPlaces);
  if (below(2)) call.recv_at = below(kPlaces);
  if (below(4) == 0) call.send_layout = (enum Layout)below(kLayouts);
  if (below(4) == 0) call.recv_layout = (enum Layout)below(kLayouts);
  *own = state;
  state = shared;
}

static int reduces(void) { return call.kind == allreduce || call.kind == reduce_scatter_block; }
static int blocks_sent(void) { return call.kind == alltoall || call.kind == reduce_scatter_block ? size : 1; }
static int blocks_received(void) { return call.kind == alltoall || call.kind == allgather ? size : 1; }
static int in_place(void) { return call.in_place && call.kind != reduce_scatter_block; }

/* A type is made anew for each call, so that its handle may be that of an earlier one. */
static MPI_Datatype made(enum Layout layout) {
  if (layout == row) return MPI_INT;
  MPI_Datatype type, resized;
  if (layout == pairs) {
    MPI_OK(MPI_Type_contiguous(2, MPI_INT, &type));
  } else {
    MPI_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    MPI_OK(MPI_Type_create_resized(type, 0, 4 * (MPI_Aint)sizeof(int), &resized));
    MPI_OK(MPI_Type_free(&type));
    type = resized;
  }
  MPI_OK(MPI_Type_commit(&type));
  return type;
}
static void freed(MPI_Datatype* type) {
  if (*type != MPI_INT) MPI_OK(MPI_Type_free(type));
}
static int place_of(enum Layout layout, int element) { return layout == gaps ? 2 * element : element; }
static int elements(enum Layout layout, int count) { return layout == row ? count : count / 2; }

/* The value is exact in every type. */
static int value(int from, int to, int i) { return (from * 31 + to * 7 + i * 3 + step) % 97; }
static void put(int* at, int type, int number) {
  if (type == 2) *(float*)at = (float)number;
  else *at = number;
}
static int combined(int to, int i) {
  int all = value(0, to, i);
  for (int from = 1; from < size; ++from) {
    const int one = value(from, to, i);
    all = call.op == 0 ? all + one : call.op == 1 ? (one > all ? one : all) : (one < all ? one : all);
  }
  return all;
}
static int expected(int block, int i) {
  switch (call.kind) {
    case alltoall: return value(block, rank, i);
    case allgather: return value(block, 0, i);
    case allreduce: return combined(0, i);
    default: return combined(rank, i);
  }
}

static int make(MPI_Comm comm, const int* send, int* recv) {
  const MPI_Datatype of_reductions[] = {MPI_INT, MPI_UNSIGNED, MPI_FLOAT};
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
  const void* const from = in_place() ? MPI_IN_PLACE : send;
  const int count = call.negative ? -1 : call.count;
  if (call.kind == allreduce) return MPI_Allreduce(from, recv, count, of_reductions[call.type], ops[call.op], comm);
  if (call.kind == reduce_scatter_block) return MPI_Reduce_scatter_block(from, recv, count, of_reductions[call.type], ops[call.op], comm);
  MPI_Datatype sent = made(call.send_layout), received = made(call.recv_layout);
  const int out = call.negative ? -1 : elements(call.send_layout, count), in = call.negative ? -1 : elements(call.recv_layout, count);
  const int code = call.kind == alltoall ? MPI_Alltoall(from, out, sent, recv, in, received, comm) : MPI_Allgather(from, out, sent, recv, in, received, comm);
  freed(&sent);
  freed(&received);
  return code;
}

static void check_call(MPI_Comm comm) {
  const enum Layout out = reduces() ? row : call.send_layout, in = reduces() ? row : call.recv_layout;
  const int type = reduces() ? call.type : 0, poison = (int)0xdeadbeef;
  int* const recv = memory[1][call.recv_at];
  int* const send = call.same_buffers ? recv : memory[0][call.send_at];
  const int room = (int)(sizeof memory[0][0] / sizeof(int));
  for (int i = 0; i < room; ++i) recv[i] = poison;
  for (int block = 0; block < blocks_sent(); ++block) {
    const int own = in_place() && call.kind == allgather ? rank : block;
    for (int i = 0; i < call.count; ++i) {
      int* const at = in_place() ? recv + place_of(in, own * call.count + i) : send + place_of(out, block * call.count + i);
      put(at, type, value(rank, block, i));
    }
  }
  const int code = make(comm, send, recv);
  if (call.negative || call.same_buffers) {
    CHECK(code != MPI_SUCCESS, "call %d: what MPI refuses was accepted", step);
    return;
  }
  MPI_OK(code);
  int wrong = 0;
  for (int block = 0; block < blocks_received(); ++block) {
    for (int i = 0; i < call.count; ++i) {
      int* const at = recv + place_of(in, block * call.count + i);
      int wanted = 0;
      put(&wanted, type, expected(block, i));
      wrong += *at != wanted;
      *at = poison;
    }
  }
  for (int i = 0; i < room; ++i) wrong += recv[i] != poison;
  CHECK(wrong == 0, "call %d, kind %d of %d elements, layouts %d and %d, in place %d: %d wrong", step, (int)call.kind, call.count, (int)out, (int)in,
        in_place(), wrong);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MPI_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)); /* Open MPI raises some errors there. */
  refusals = argc > 3;
  rank = rank_in(comm), size = size_of_comm(comm);
  state = (unsigned)atoi(argv[1]);
  unsigned own = state * 77u + (unsigned)rank;
  call.count = 2;
  for (step = 0; step < atoi(argv[2]); ++step) {
    change(&own);
    check_call(comm);
  }
  MPI_OK(MPI_Comm_free(&comm));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
