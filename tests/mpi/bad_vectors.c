/* The program makes calls of MPI_Alltoallv and MPI_Alltoallw that MPI refuses, and some odd ones that it may accept. Rank 0 prints for each the class
 * of the error and how often the user's error handler ran, to be compared with the same program without crossrail.
 *
 *   bad_vectors return | handler      MPI_ERRORS_RETURN or a handler of our own */
#include "check.h"

enum { kMost = 16, kBlock = 4 };

static int handler_calls, handler_class;

static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++handler_calls;
  MPI_Error_class(*code, &handler_class);
}

static int send[kMost * kBlock], recv[kMost * kBlock];

typedef struct {
  void* buffer;
  int counts[kMost];
  int places[kMost];
  MPI_Datatype types[kMost];
  int no_counts, no_places, no_types; /* These ask for a null pointer instead. */
} Side;

static Side out, in;

static Side usual_side(int* buffer, int types) {
  Side side = {.buffer = buffer};
  for (int i = 0; i < kMost; ++i) {
    side.counts[i] = 1;
    side.places[i] = i * kBlock * (types ? (int)sizeof(int) : 1);
    side.types[i] = MPI_INT;
  }
  return side;
}

/* This is what came of the attempts of one name, on one communicator after the other. */
typedef struct {
  const char* name;
  int types;
  char text[60];
} Outcome;

static Outcome outcomes[60];
static int outcome_count;

static void note(const char* name, int types, int code) {
  int class = MPI_SUCCESS, at = 0;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  while (at < outcome_count && (outcomes[at].name != name || outcomes[at].types != types)) ++at;
  if (at == outcome_count) outcomes[outcome_count++] = (Outcome){.name = name, .types = types};
  char* text = outcomes[at].text;
  snprintf(text + strlen(text), sizeof outcomes[at].text - strlen(text), " %d,%d,%d", class, handler_calls, handler_class);
  handler_calls = handler_class = 0;
}

/* The lines are few and short, so that launchers leave them whole. They hold the class, the calls of the handler and its last class. */
static void report(void) {
  for (int i = 0; i < outcome_count; ++i) {
    printf("result rank 0 %s %s:%s\n", outcomes[i].types ? "w" : "v", outcomes[i].name, outcomes[i].text);
  }
  fflush(stdout);
}

/* Makes the call with the sides as they are, and then makes the sides usual again. */
static void attempt(const char* name, int types, MPI_Comm comm) {
  const int* out_counts = out.no_counts ? NULL : out.counts;
  const int* in_counts = in.no_counts ? NULL : in.counts;
  const int* out_places = out.no_places ? NULL : out.places;
  const int* in_places = in.no_places ? NULL : in.places;
  const int code =
      types ? MPI_Alltoallw(out.buffer, out_counts, out_places, out.no_types ? NULL : out.types, in.buffer, in_counts,
                            in_places, in.no_types ? NULL : in.types, comm)
            : MPI_Alltoallv(out.buffer, out_counts, out_places, out.types[0], in.buffer, in_counts, in_places,
                            in.types[0], comm);
  note(name, types, code);
  out = usual_side(send, types);
  in = usual_side(recv, types);
}

static void no_counts(Side* side) {
  for (int i = 0; i < kMost; ++i) side->counts[i] = 0;
}

/* Open MPI does not look at buffers and would run into the null pointer. The MPICH family does not look at arrays. */
static int looks_at_buffers(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  return strstr(version, "Open MPI") == NULL;
}

static void wrong_counts(int types, MPI_Comm comm) {
  attempt("null communicator", types, MPI_COMM_NULL);
  out.counts[1] = -1;
  attempt("negative send count", types, comm);
  in.counts[1] = -1;
  attempt("negative receive count", types, comm);
  in.buffer = MPI_IN_PLACE;
  attempt("receive in place", types, comm);
  attempt("nothing wrong", types, comm);
  if (looks_at_buffers()) return;
  out.no_counts = 1;
  attempt("no send counts", types, comm);
  in.no_counts = 1;
  attempt("no receive counts", types, comm);
  out.no_places = 1;
  attempt("no send displacements", types, comm);
  in.no_places = 1;
  attempt("no receive displacements", types, comm);
}

static void wrong_types(int types, MPI_Comm comm) {
  MPI_Datatype open; /* This type is not committed. */
  MPI_Type_vector(1, 1, 2, MPI_INT, &open);
  const MPI_Datatype wrong[2] = {MPI_DATATYPE_NULL, open};
  for (int i = 0; i < 2; ++i) {
    out.types[0] = wrong[i];
    attempt(i ? "uncommitted send type" : "null send type", types, comm);
    in.types[0] = wrong[i];
    attempt(i ? "uncommitted receive type" : "null receive type", types, comm);
    no_counts(&out);
    no_counts(&in);
    out.types[0] = in.types[0] = wrong[i];
    attempt(i ? "uncommitted types of nothing" : "null types of nothing", types, comm);
    in.types[0] = wrong[i];
    out.buffer = MPI_IN_PLACE;
    attempt(i ? "in place, uncommitted" : "in place, null type", types, comm);
  }
  if (types && !looks_at_buffers()) {
    out.no_types = 1;
    attempt("no send types", types, comm);
    in.no_types = 1;
    attempt("no receive types", types, comm);
  }
  MPI_Type_free(&open);
}

static void wrong_buffers(int types, MPI_Comm comm) {
  no_counts(&out);
  no_counts(&in);
  out.buffer = in.buffer = NULL;
  attempt("null buffers of nothing", types, comm);
  if (!looks_at_buffers()) return;
  out.buffer = NULL;
  attempt("null send buffer", types, comm);
  in.buffer = NULL;
  attempt("null receive buffer", types, comm);
  out.buffer = MPI_IN_PLACE;
  in.buffer = NULL;
  attempt("in place, null buffer", types, comm);
  MPI_Datatype pair;
  MPI_Type_contiguous(1, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int i = 0; i < kMost; ++i) out.types[i] = pair;
  out.buffer = NULL;
  attempt("null send buffer of a derived type", types, comm);
  MPI_Type_free(&pair);
}

static void same_buffer(MPI_Comm comm) {
  if (!looks_at_buffers()) return;
  note("same buffer, same counts", 0,
         MPI_Alltoallv(send, out.counts, out.places, MPI_INT, send, out.counts, out.places, MPI_INT, comm));
  note("same buffer, same counts", 1,
         MPI_Alltoallw(send, out.counts, out.places, out.types, send, out.counts, out.places, out.types, comm));
}

static void attempts(MPI_Comm comm) {
  for (int types = 0; types < 2; ++types) {
    out = usual_side(send, types);
    in = usual_side(recv, types);
    wrong_counts(types, comm);
    wrong_types(types, comm);
    wrong_buffers(types, comm);
  }
  same_buffer(comm);
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
  attempts(dup);
  attempts(MPI_COMM_WORLD);
  MPI_OK(checked_alltoall(dup, 3, 2)); /* Nothing is broken. */
  if (rank_in(MPI_COMM_WORLD) == 0) report();
  MPI_Barrier(MPI_COMM_WORLD); /* PASS must not be printed in the middle of a line. */
  MPI_Comm_free(&dup);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
