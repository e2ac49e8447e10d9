/* In these cases ranks do not agree about their calls, or do not treat requests as they should. */
#include <setjmp.h>
#include <unistd.h>

#include "persistent_names.h"
#include "wrong_programs.h"

static int odd(void) { return rank_in(comm) == 1; }

/* The name of the case chooses one call of each rank. */
static void unlike(void) {
  const int types = strstr(name, "types") != NULL, operations = strstr(name, "operations") != NULL;
  const int count = odd() && strstr(name, "counts") != NULL ? 3 : 2;
  const MPI_Datatype type = odd() && types ? MPI_DOUBLE : MPI_INT;
  const MPI_Op operation = odd() && operations ? MPI_MAX : MPI_SUM;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  if (strstr(name, "_ialltoall")) code = MPI_Ialltoall(send, count, type, recv, count, type, comm, &request);
  else if (strstr(name, "_iallreduce")) code = MPI_Iallreduce(send, recv, count, type, operation, comm, &request);
  else if (strstr(name, "_alltoall")) (void)MPI_Alltoall(send, count, type, recv, count, type, comm);
  else if (strstr(name, "_allgather")) (void)MPI_Allgather(send, count, type, recv, count, type, comm);
  else if (strstr(name, "_allreduce")) (void)MPI_Allreduce(send, recv, count, type, operation, comm);
  else (void)MPI_Reduce_scatter_block(send, recv, count, type, operation, comm);
  (void)end_of(code, &request);
  returned("the call");
}

static void add(void* from, void* to, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)to)[i] += ((int*)from)[i];
}

static void check_sum(MPI_Op operation) {
  const int ranks = size_of_comm(comm), rank = rank_in(comm), scatters = strstr(name, "scatter") != NULL;
  for (int i = 0; i < ranks; ++i) send[i] = rank + i, recv[i] = -1;
  if (scatters) MPI_OK(MPI_Reduce_scatter_block(send, recv, 1, MPI_INT, operation, comm));
  else MPI_OK(MPI_Allreduce(send, recv, 1, MPI_INT, operation, comm));
  const int wanted = ranks * (ranks - 1) / 2 + ranks * (scatters ? rank : 0);
  CHECK(recv[0] == wanted, "rank %d: %d, not %d", rank, recv[0], wanted);
}

/* The call has one element: for more, MPICH 4 has another algorithm for each of them. Before and after it are calls in which all have the same
 * operation, of either kind, and calls that are refused on one rank only. */
static void own_operation(void) {
  MPI_Op own;
  MPI_OK(MPI_Op_create(add, 1, &own));
  for (int call = 0; call < 20; ++call) {
    check_sum(call % 4 == 3 ? own : MPI_SUM);
    if (odd() && call % 5 == 1) CHECK(MPI_Allreduce(send, recv, 1, MPI_INT, MPI_OP_NULL, comm) != MPI_SUCCESS, "rank %d: not refused", rank_in(comm));
    if (odd() && call % 5 == 3) usleep(400000); /* The others lose their patience. */
  }
  check_sum(odd() ? own : MPI_SUM);
  for (int call = 0; call < 20; ++call) check_sum(call % 4 == 3 ? own : MPI_SUM);
  MPI_OK(MPI_Op_free(&own));
  returned("all");
}

static jmp_buf before_call;
static void leave(MPI_Comm* its_comm, int* code, ...) {
  (void)its_comm, (void)code;
  longjmp(before_call, 1);
}

/* A call is refused on one rank, whose error handler leaves it. That rank then takes its time. */
static void left_handler(void) {
  MPI_Errhandler leaves;
  MPI_Request request;
  MPI_OK(MPI_Comm_create_errhandler(leave, &leaves));
  for (int call = 0; call < 5; ++call) check_sum(MPI_SUM);
  MPI_OK(MPI_Comm_set_errhandler(comm, leaves));
  if (odd() && setjmp(before_call) == 0) (void)MPI_Allreduce(send, recv, 1, MPI_INT, MPI_OP_NULL, comm);
  MPI_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MPI_OK(MPI_Errhandler_free(&leaves));
  if (odd()) usleep(800000); /* The others lose their patience. */
  for (int call = 0; call < 5; ++call) check_sum(MPI_SUM);
  report("MPI_Ialltoall", MPI_Ialltoall(send, 1, MPI_INT, recv, 1, MPI_INT, comm, &request));
  report("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void alltoall_allgather(void) {
  if (odd()) (void)MPI_Allgather(send, 2, MPI_INT, recv, 2, MPI_INT, comm);
  else (void)MPI_Alltoall(send, 2, MPI_INT, recv, 2, MPI_INT, comm);
  returned("both");
}

static void allreduce_scatter(void) {
  if (odd()) (void)MPI_Reduce_scatter_block(send, recv, 2, MPI_INT, MPI_SUM, comm);
  else (void)MPI_Allreduce(send, recv, 2, MPI_INT, MPI_SUM, comm);
  returned("both");
}

static void alltoall_barrier(void) {
  if (odd()) (void)MPI_Barrier(comm);
  else (void)MPI_Alltoall(send, 2, MPI_INT, recv, 2, MPI_INT, comm);
  returned("both");
}

static void pending_kinds(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (odd()) (void)end_of(MPI_Iallgather(send, 2, MPI_INT, recv, 2, MPI_INT, comm, &request), &request);
  else (void)end_of(MPI_Ialltoall(send, 2, MPI_INT, recv, 2, MPI_INT, comm, &request), &request);
  returned("both");
}

static void blocking_and_pending(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (odd()) (void)end_of(MPI_Ialltoall(send, 2, MPI_INT, recv, 2, MPI_INT, comm, &request), &request);
  else (void)MPI_Alltoall(send, 2, MPI_INT, recv, 2, MPI_INT, comm);
  returned("both");
}

static void other_order(void) {
  if (odd()) (void)MPI_Allreduce(send, recv, 2, MPI_INT, MPI_SUM, comm);
  (void)MPI_Alltoall(send, 2, MPI_INT, recv + 16, 2, MPI_INT, comm);
  if (!odd()) (void)MPI_Allreduce(send, recv, 2, MPI_INT, MPI_SUM, comm);
  returned("both");
}

static void in_place_on_one(void) {
  (void)MPI_Allreduce(odd() ? MPI_IN_PLACE : send, recv, 2, MPI_INT, MPI_SUM, comm);
  returned("MPI_Allreduce"); /* This is right. */
  (void)MPI_Alltoall(odd() ? MPI_IN_PLACE : send, 2, MPI_INT, recv, 2, MPI_INT, comm);
  returned("MPI_Alltoall");
}

static void missing(void) {
  if (!odd()) (void)MPI_Alltoall(send, 2, MPI_INT, recv, 2, MPI_INT, comm);
  returned("all");
}

/* These cases are about requests. */
static void never_completed(void) {
  static MPI_Request requests[4];
  report("MPI_Ialltoall", MPI_Ialltoall(send, 2, MPI_INT, recv, 2, MPI_INT, comm, &requests[0]));
  report("MPI_Iallreduce", MPI_Iallreduce(send, recv + 16, 2, MPI_INT, MPI_SUM, comm, &requests[1]));
}

static void freed_then_waited(void) {
  MPI_Request request, kept;
  MPI_Status status;
  MPI_OK(MPI_Ialltoall(send, 2, MPI_INT, recv, 2, MPI_INT, comm, &request));
  kept = request;
  report("MPI_Request_free", MPI_Request_free(&request));
  usleep(100000);
  report("MPI_Wait", MPI_Wait(&kept, &status));
}

static void waited_twice(void) {
  MPI_Request request, kept;
  MPI_OK(MPI_Iallreduce(send, recv, 2, MPI_INT, MPI_SUM, comm, &request));
  kept = request;
  report("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
  report("MPI_Wait again", MPI_Wait(&kept, MPI_STATUS_IGNORE));
}

static void started_nonblocking(void) {
  MPI_Request request;
  MPI_OK(MPI_Ialltoall(send, 2, MPI_INT, recv, 2, MPI_INT, comm, &request));
  report("MPI_Start", MPI_Start(&request));
  report("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
}

#if PERSISTENT_COLLECTIVES
static void started_active(void) {
  MPI_Request request;
  MPI_OK(MPI_Alltoall_init(send, 2, MPI_INT, recv, 2, MPI_INT, comm, MPI_INFO_NULL, &request));
  report("MPI_Start", MPI_Start(&request));
  report("MPI_Start again", MPI_Start(&request));
  report("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
  report("MPI_Request_free", MPI_Request_free(&request));
}

static void init_refused(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  report("a negative count", MPI_Alltoall_init(send, -1, MPI_INT, recv, -1, MPI_INT, comm, MPI_INFO_NULL, &request));
  report("a null type", MPI_Alltoall_init(send, 1, MPI_DATATYPE_NULL, recv, 1, MPI_INT, comm, MPI_INFO_NULL, &request));
  report("a null communicator", MPI_Alltoall_init(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_NULL, MPI_INFO_NULL, &request));
}

static void freed_active(void) {
  MPI_Request request;
  MPI_OK(MPI_Alltoall_init(send, 2, MPI_INT, recv, 2, MPI_INT, comm, MPI_INFO_NULL, &request));
  report("MPI_Start", MPI_Start(&request));
  report("MPI_Request_free", MPI_Request_free(&request));
}
#endif

#define UNLIKE(its_name) {#its_name, unlike}
const Case wrong_order[] = {
    UNLIKE(operations_allreduce), UNLIKE(operations_scatter), UNLIKE(operations_iallreduce), UNLIKE(types_allreduce), UNLIKE(types_scatter),
    UNLIKE(types_alltoall), UNLIKE(types_allgather), UNLIKE(types_ialltoall), UNLIKE(types_iallreduce), UNLIKE(counts_allreduce),
    UNLIKE(counts_scatter), UNLIKE(counts_alltoall), UNLIKE(counts_allgather), UNLIKE(counts_ialltoall), UNLIKE(counts_iallreduce),
    {"own_operation_allreduce", own_operation}, {"own_operation_scatter", own_operation}, CASE(left_handler), CASE(alltoall_allgather), CASE(allreduce_scatter), CASE(alltoall_barrier), CASE(pending_kinds),
    CASE(blocking_and_pending),
    CASE(other_order), CASE(in_place_on_one), CASE(missing), CASE(never_completed), CASE(freed_then_waited), CASE(waited_twice),
    CASE(started_nonblocking),
#if PERSISTENT_COLLECTIVES
    CASE(started_active), CASE(init_refused), CASE(freed_active),
#endif
    {NULL, NULL},
};
