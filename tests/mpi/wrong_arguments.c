/* These cases give all calls arguments that MPI forbids. */
#include "wrong_programs.h"

static int counts[kMost], places[kMost];
static MPI_Datatype types[kMost];

static void sides(int count, MPI_Datatype type) {
  for (int i = 0; i < kMost; ++i) counts[i] = count, places[i] = i * (count < 0 ? 1 : count), types[i] = type;
}

/* One call of all is given these. */
typedef struct {
  const void* from;
  void* to;
  int count;
  MPI_Datatype type;
  MPI_Op operation;
  MPI_Comm comm;
} Given;

static Given given(void) { return (Given){send, recv, 2, MPI_INT, MPI_SUM, comm}; }

static void blocking(const Given* g) {
  report("MPI_Alltoall", MPI_Alltoall(g->from, g->count, g->type, g->to, g->count, g->type, g->comm));
  report("MPI_Allgather", MPI_Allgather(g->from, g->count, g->type, g->to, g->count, g->type, g->comm));
  report("MPI_Allreduce", MPI_Allreduce(g->from, g->to, g->count, g->type, g->operation, g->comm));
  report("MPI_Reduce_scatter_block", MPI_Reduce_scatter_block(g->from, g->to, g->count, g->type, g->operation, g->comm));
}

static void vectors(const Given* g) {
  sides(g->count, g->type);
  report("MPI_Alltoallv", MPI_Alltoallv(g->from, counts, places, g->type, g->to, counts, places, g->type, g->comm));
  report("MPI_Allgatherv", MPI_Allgatherv(g->from, g->count, g->type, g->to, counts, places, g->type, g->comm));
  for (int i = 0; i < kMost; ++i) places[i] *= (int)sizeof(int);
  report("MPI_Alltoallw", MPI_Alltoallw(g->from, counts, places, types, g->to, counts, places, types, g->comm));
}

static void scattered(const Given* g) {
  sides(g->count, g->type);
  report("MPI_Reduce_scatter", MPI_Reduce_scatter(g->from, g->to, counts, g->type, g->operation, g->comm));
}

static void nonblocking(const Given* g) {
  MPI_Request request = MPI_REQUEST_NULL;
  report("MPI_Ialltoall", end_of(MPI_Ialltoall(g->from, g->count, g->type, g->to, g->count, g->type, g->comm, &request), &request));
  request = MPI_REQUEST_NULL;
  report("MPI_Iallgather", end_of(MPI_Iallgather(g->from, g->count, g->type, g->to, g->count, g->type, g->comm, &request), &request));
  request = MPI_REQUEST_NULL;
  report("MPI_Iallreduce", end_of(MPI_Iallreduce(g->from, g->to, g->count, g->type, g->operation, g->comm, &request), &request));
  request = MPI_REQUEST_NULL;
  const int code = MPI_Ireduce_scatter_block(g->from, g->to, g->count, g->type, g->operation, g->comm, &request);
  report("MPI_Ireduce_scatter_block", end_of(code, &request));
  sides(g->count, g->type);
  request = MPI_REQUEST_NULL;
  report("MPI_Iallgatherv", end_of(MPI_Iallgatherv(g->from, g->count, g->type, g->to, counts, places, g->type, g->comm, &request), &request));
  request = MPI_REQUEST_NULL;
  report("MPI_Ireduce_scatter", end_of(MPI_Ireduce_scatter(g->from, g->to, counts, g->type, g->operation, g->comm, &request), &request));
  request = MPI_REQUEST_NULL;
  report("MPI_Ialltoallv", end_of(MPI_Ialltoallv(g->from, counts, places, g->type, g->to, counts, places, g->type, g->comm, &request), &request));
}

static void all_calls(const Given* g) {
  blocking(g);
  vectors(g);
  scattered(g);
  nonblocking(g);
}

static void null_communicator(void) {
  Given g = given();
  g.comm = MPI_COMM_NULL;
  all_calls(&g);
}

static void freed_communicator(void) {
  Given g = given();
  MPI_Comm other;
  MPI_OK(MPI_Comm_dup(comm, &other));
  g.comm = other;
  MPI_OK(MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN));
  for (int i = 0; i < 12; ++i) MPI_OK(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, other));
  MPI_OK(MPI_Comm_free(&other));
  all_calls(&g);
}

static void freed_type(void) {
  Given g = given();
  MPI_Datatype pair;
  MPI_OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  MPI_OK(MPI_Type_commit(&pair));
  MPI_OK(MPI_Alltoall(send, 1, pair, recv, 1, pair, comm));
  g.type = pair;
  MPI_OK(MPI_Type_free(&pair));
  g.count = 1;
  report("MPI_Alltoall", MPI_Alltoall(g.from, 1, g.type, g.to, 1, g.type, comm));
  report("MPI_Allgather", MPI_Allgather(g.from, 1, g.type, g.to, 1, g.type, comm));
  sides(1, g.type);
  report("MPI_Alltoallv", MPI_Alltoallv(g.from, counts, places, g.type, g.to, counts, places, g.type, comm));
}

static void uncommitted_type(void) {
  Given g = given();
  MPI_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &g.type));
  report("MPI_Alltoall", MPI_Alltoall(g.from, 1, g.type, g.to, 1, g.type, comm));
  report("MPI_Allgather", MPI_Allgather(g.from, 1, g.type, g.to, 1, g.type, comm));
  g.count = 1;
  vectors(&g);
  MPI_OK(MPI_Type_free(&g.type));
}

static void negative_count(void) {
  Given g = given();
  g.count = -1;
  all_calls(&g);
}

/* Reductions are apart, because MPICH 4 lets them pass and crashes in them. */
static void negative_block(void) {
  Given g = given();
  report("MPI_Alltoall", MPI_Alltoall(g.from, -1, MPI_INT, g.to, -1, MPI_INT, comm));
  report("MPI_Allgather", MPI_Allgather(g.from, -1, MPI_INT, g.to, -1, MPI_INT, comm));
  g.count = -1;
  vectors(&g);
}

static void null_buffers(void) {
  Given g = given();
  g.from = NULL;
  all_calls(&g);
  g.from = send, g.to = NULL;
  all_calls(&g);
}

static void in_place_received(void) {
  Given g = given();
  g.to = MPI_IN_PLACE;
  all_calls(&g);
}

static void in_place_both(void) {
  Given g = given();
  g.from = g.to = MPI_IN_PLACE;
  all_calls(&g);
}

static void same_buffer(void) {
  Given g = given();
  g.to = send;
  all_calls(&g);
}

static void overlapping(void) {
  Given g = given();
  g.to = send + 1;
  all_calls(&g);
}

static void null_operation(void) {
  Given g = given();
  g.operation = MPI_OP_NULL;
  report("MPI_Allreduce", MPI_Allreduce(send, recv, 1, MPI_INT, g.operation, comm));
  report("MPI_Reduce_scatter_block", MPI_Reduce_scatter_block(send, recv, 1, MPI_INT, g.operation, comm));
}

const Case wrong_arguments[] = {
    CASE(null_communicator), CASE(freed_communicator), CASE(freed_type), CASE(uncommitted_type), CASE(negative_count), CASE(negative_block),
    CASE(null_buffers), CASE(in_place_received), CASE(in_place_both), CASE(same_buffer), CASE(overlapping), CASE(null_operation),
    {NULL, NULL},
};
