/* The program's function that deletes an attribute makes collective calls on the communicator that is being freed.
 *
 *   calls_in_delete_functions [late]    late: the attribute is set after the communicator's first calls */
#include "check.h"

static int deleted;

static void exchange(MPI_Comm comm, int call) {
  const int rank = rank_in(comm), size = size_of_comm(comm);
  int out[16], in[16], all = 0, ranks = size * (size - 1) / 2;
  MPI_Request request;
  for (int peer = 0; peer < size; ++peer) out[peer] = number(rank, peer, call);
  MPI_OK(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
  for (int peer = 0; peer < size; ++peer) CHECK(in[peer] == number(peer, rank, call), "wrong from %d in call %d", peer, call);
  MPI_OK(MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, comm));
  CHECK(all == ranks, "%d, not %d, in call %d", all, ranks, call);
  MPI_OK(MPI_Iallreduce(&rank, &all, 1, MPI_INT, MPI_SUM, comm, &request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(all == ranks, "%d, not %d, in pending call %d", all, ranks, call);
}

static int delete_function(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)keyval, (void)value, (void)extra;
  for (int call = 0; call < 6; ++call) exchange(comm, call);
  ++deleted;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int late = argc > 1;
  int keyval;
  (void)argv;
  MPI_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_function, &keyval, NULL));
  for (int turn = 0; turn < 8; ++turn) {
    MPI_Comm comm;
    MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (!late) MPI_OK(MPI_Comm_set_attr(comm, keyval, NULL));
    for (int call = 0; call < 2 * turn; ++call) exchange(comm, call);
    if (late) MPI_OK(MPI_Comm_set_attr(comm, keyval, NULL));
    if (turn % 3 == 2) MPI_OK(MPI_Comm_disconnect(&comm));
    else MPI_OK(MPI_Comm_free(&comm));
    CHECK(deleted == turn + 1, "%d deleted, not %d", deleted, turn + 1);
  }
  MPI_OK(MPI_Comm_free_keyval(&keyval));
  const int result = verdict();
  MPI_Finalize();
  return result;
}
