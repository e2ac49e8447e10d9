/* Gathers and scatters have arguments that MPI forbids on all ranks, which are the MPI library's own errors, on communicators that have been opened.
 * Other calls are right although they look wrong: calls between groups, and those of a rank alone.
 *
 * Lines 'result ...' must be compared with the same program without crossrail. */
#include "check.h"

enum { kMost = 64 };

static int send[kMost], recv[kMost], counts[kMost], places[kMost];
static MPI_Comm comm;

typedef struct {
  int count, root;
  MPI_Datatype type;
  MPI_Comm comm;
} Given;

static int class_of(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

static int end_of(int code, MPI_Request* request) { return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code; }

static void all_calls(const char* name, const Given* g) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < kMost; ++i) counts[i] = g->count, places[i] = i * (g->count < 0 ? 1 : g->count);
  const int gather = class_of(MPI_Gather(send, g->count, g->type, recv, g->count, g->type, g->root, g->comm));
  const int gatherv = class_of(MPI_Gatherv(send, g->count, g->type, recv, counts, places, g->type, g->root, g->comm));
  const int scatter = class_of(MPI_Scatter(send, g->count, g->type, recv, g->count, g->type, g->root, g->comm));
  const int scatterv = class_of(MPI_Scatterv(send, counts, places, g->type, recv, g->count, g->type, g->root, g->comm));
  const int igather = class_of(end_of(MPI_Igather(send, g->count, g->type, recv, g->count, g->type, g->root, g->comm, &request), &request));
  request = MPI_REQUEST_NULL;
  const int iscatterv = class_of(end_of(MPI_Iscatterv(send, counts, places, g->type, recv, g->count, g->type, g->root, g->comm, &request), &request));
  printf("result rank %d %s: classes %d %d %d %d %d %d\n", rank_in(MPI_COMM_WORLD), name, gather, gatherv, scatter, scatterv, igather, iscatterv);
  fflush(stdout);
}

/* Calls run between the even ranks and the odd ones, with the roots' own arguments, their group's, and those of the other group. */
static void between_groups(void) {
  const int rank = rank_in(MPI_COMM_WORLD), odd = rank % 2;
  MPI_Comm half, inter;
  MPI_OK(MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &half));
  MPI_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 5, &inter));
  int others = 0;
  MPI_OK(MPI_Comm_remote_size(inter, &others));
  const int root = !odd ? 0 : rank_in(half) == 0 ? MPI_ROOT : MPI_PROC_NULL;
  for (int again = 0; again < 20; ++again) {
    memset(recv, 0xff, sizeof recv);
    MPI_OK(MPI_Gather(send, 2, MPI_INT, recv, 2, MPI_INT, root, inter));
    for (int i = 0; root == MPI_ROOT && i < 2 * others; ++i) CHECK(recv[i] == number(2 * (i / 2), 0, i % 2), "wrong block of %d", i / 2);
    for (int i = 0; i < kMost; ++i) counts[i] = 1, places[i] = i;
    memset(recv, 0xff, sizeof recv);
    MPI_OK(MPI_Scatterv(send, counts, places, MPI_INT, recv, 1, MPI_INT, root, inter));
    if (!odd) CHECK(recv[0] == number(1, 0, rank_in(half)), "wrong block");
  }
  MPI_OK(MPI_Comm_free(&inter));
  MPI_OK(MPI_Comm_free(&half));
}

static void alone(void) {
  for (int again = 0; again < 20; ++again) {
    memset(recv, 0xff, sizeof recv);
    MPI_OK(MPI_Gather(send, 3, MPI_INT, recv, 3, MPI_INT, 0, MPI_COMM_SELF));
    CHECK(recv[2] == send[2], "nothing gathered");
    MPI_OK(MPI_Scatter(send + 8, 3, MPI_INT, recv, 3, MPI_INT, 0, MPI_COMM_SELF));
    CHECK(recv[2] == send[10], "nothing scattered");
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < kMost; ++i) send[i] = number(rank_in(MPI_COMM_WORLD), 0, i);
  const Given right = {2, 0, MPI_INT, comm};
  for (int i = 0; i < 12; ++i) all_calls(i == 11 ? "right" : "first", &right);
  Given wrong = right;
  const int roots[] = {-1, -3, -7, size_of_comm(comm), 1 << 30};
  for (int i = 0; i < 5; ++i) {
    wrong.root = roots[i];
    all_calls("root", &wrong);
  }
  wrong = right, wrong.count = -1;
  all_calls("count", &wrong);
  wrong = right, wrong.type = MPI_DATATYPE_NULL;
  all_calls("type", &wrong);
  wrong = right, wrong.comm = MPI_COMM_NULL;
  all_calls("communicator", &wrong);
  if (size_of_comm(comm) > 1) between_groups();
  alone();
  all_calls("right again", &right);
  MPI_Comm_free(&comm);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
