/* The program makes calls that MPI refuses. For each it prints the class of the error and how often the user's error handler ran, to be compared with
 * the same program without crossrail.
 *
 *   bad_arguments return | handler      MPI_ERRORS_RETURN or a handler of our own */
#include "check.h"

static int handler_calls, handler_class;

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++handler_calls;
  MPI_Error_class(*code, &handler_class);
}

static int send[64], recv[64];

typedef struct {
  const char* name;
  void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  int to_count;
  MPI_Datatype to_type;
  MPI_Comm comm;
} Call;

static void report(const char* name, int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  printf("result rank %d %s: class %d, handler %d times, last for class %d\n", rank_in(MPI_COMM_WORLD), name, class,
         handler_calls, handler_class);
  fflush(stdout);
  handler_calls = handler_class = 0;
}

static void attempt(const Call* call) {
  report(call->name, MPI_Alltoall(call->from, call->from_count, call->from_type, call->to, call->to_count,
                                  call->to_type, call->comm));
}

/* Open MPI does not look at buffers and would run into the null pointer. */
static int looks_at_buffers(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  return strstr(version, "Open MPI") == NULL;
}

static void attempts(MPI_Comm comm) {
  MPI_Datatype open; /* This type is not committed. */
  MPI_Type_vector(2, 1, 2, MPI_INT, &open);
  MPI_Datatype gaps;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  const Call calls[] = {
      {"null communicator", send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_NULL},
      {"negative send count", send, -1, MPI_INT, recv, 1, MPI_INT, comm},
      {"negative receive count", send, 1, MPI_INT, recv, -1, MPI_INT, comm},
      {"both negative", send, -3, MPI_INT, recv, -3, MPI_INT, comm},
      {"null send type", send, 1, MPI_DATATYPE_NULL, recv, 1, MPI_INT, comm},
      {"null receive type", send, 1, MPI_INT, recv, 1, MPI_DATATYPE_NULL, comm},
      {"uncommitted send type", send, 1, open, recv, 2, MPI_INT, comm},
      {"uncommitted receive type", send, 2, MPI_INT, recv, 1, open, comm},
      {"uncommitted both", send, 1, open, recv, 1, open, comm},
      {"receive in place", send, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm},
  };
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) attempt(&calls[i]);
  if (looks_at_buffers()) {
    const Call more[] = {
        {"null send buffer", NULL, 1, MPI_INT, recv, 1, MPI_INT, comm},
        {"null receive buffer", send, 1, MPI_INT, NULL, 1, MPI_INT, comm},
        {"null send buffer, a vector", NULL, 1, gaps, recv, 2, MPI_INT, comm},
        {"null receive buffer, a vector", send, 2, MPI_INT, NULL, 1, gaps, comm},
        {"same buffer", send, 1, MPI_INT, send, 1, MPI_INT, comm},
        {"in place, uncommitted", MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, 1, open, comm},
        {"in place, null buffer", MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, NULL, 1, MPI_INT, comm},
    };
    for (size_t i = 0; i < sizeof more / sizeof more[0]; ++i) attempt(&more[i]);
  }
  MPI_Type_free(&gaps);
  MPI_Type_free(&open);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler chosen = MPI_ERRORS_RETURN;
  const int own = argc > 1 && strcmp(argv[1], "handler") == 0;
  if (own) MPI_Comm_create_errhandler(handler, &chosen);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, chosen);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, chosen); /* MPI-4 raises here what has no communicator. */
  MPI_Comm_set_errhandler(dup, chosen);
  attempts(dup); /* It was never used before. */
  MPI_OK(checked_alltoall(dup, 3, 1));
  attempts(dup);
  attempts(MPI_COMM_WORLD);
  MPI_OK(checked_alltoall(dup, 3, 2)); /* Nothing is broken. */
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 2));
  report("none", MPI_SUCCESS);
  MPI_Comm_free(&dup);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
