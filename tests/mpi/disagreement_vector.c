/* Two ranks do not agree about the block between them, in MPI_Alltoallv and MPI_Alltoallw. MPI says that an error may come; a hang may not.
 *
 *   disagreement_vector CASE [fatal | once | taken]
 *      fatal   the default error handler shall end the job
 *      once    nothing is called on the communicator afterwards: where nodes share no memory, a rank
 *              that got no error hears late of it
 *      taken   a receiver that expects more than is sent gets what is sent, without an error
 *
 * It prints the class of the error. */
#include "check.h"

enum { kMostBytes = 1 << 22, kMostRanks = 16, kMark = 1000000 };

typedef struct {
  const char* name;
  int sent, awaited; /* Rank 1 sends `sent` ints to rank 0, who awaits `awaited`. */
  int others;        /* All other blocks have so many ints. */
  int own_sides;     /* The block is from rank 1 to itself. */
  int types;         /* In MPI_Alltoallw the counts agree, and the types do not. */
  int warm;          /* So many correct calls come before. */
} Case;

static const Case kCases[] = {
    {"longer", 7, 5, 3, 0, 0, 0},           {"shorter", 5, 7, 3, 0, 0, 3},
    {"missing", 0, 4, 3, 0, 0, 3},          {"unexpected", 4, 0, 3, 0, 0, 3},
    {"missing_alone", 0, 4, 0, 0, 0, 3},    {"large", 100000, 60000, 50000, 0, 0, 3},
    {"large_shorter", 40000, 60000, 50000, 0, 0, 3}, {"own_sides", 8, 4, 2, 1, 0, 2},
    {"types", 6, 3, 3, 0, 1, 3},
};

static int counts_out[kMostRanks], counts_in[kMostRanks], places[kMostRanks], byte_places[kMostRanks];
static MPI_Datatype types_out[kMostRanks], types_in[kMostRanks];

static void fill(const Case* which, int agreed) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) {
    counts_out[i] = counts_in[i] = which->others;
    places[i] = i * (kMostBytes / (int)sizeof(int) / kMostRanks);
    byte_places[i] = places[i] * (int)sizeof(int);
    types_out[i] = types_in[i] = MPI_INT;
  }
  if (agreed) return;
  const int receiver = which->own_sides ? 1 : 0;
  if (rank == 1) counts_out[receiver] = which->sent;
  if (rank == receiver) counts_in[1] = which->awaited;
  if (!which->types) return;
  if (rank == 0) {
    counts_in[1] = which->sent;
    types_in[1] = MPI_SHORT;
  }
}

static int call(const Case* which, const int* send, int* recv) {
  if (which->types) {
    return MPI_Alltoallw(send, counts_out, byte_places, types_out, recv, counts_in, byte_places, types_in, MPI_COMM_WORLD);
  }
  return MPI_Alltoallv(send, counts_out, places, MPI_INT, recv, counts_in, places, MPI_INT, MPI_COMM_WORLD);
}

/* Checks the block from rank 1 where it is shorter than awaited. */
static void check_taken(const Case* which, const int* recv) {
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  const int* block = recv + places[1];
  for (int i = 0; i < which->awaited; ++i) {
    const int expected = i < which->sent ? kMark + i : -1;
    CHECK(block[i] == expected, "int %d is %d, not %d", i, block[i], expected);
  }
}

static void disagree(const Case* which, int* send, int* recv, int taken) {
  fill(which, 0);
  for (int i = 0; i < which->sent; ++i) send[places[0] + i] = kMark + i;
  memset(recv, 0xff, kMostBytes);
  const int code = call(which, send, recv);
  int class = MPI_SUCCESS, errors = code != MPI_SUCCESS, all = 0;
  MPI_Error_class(code, &class);
  printf("class %d\n", class);
  fflush(stdout);
  CHECK(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER || class == MPI_ERR_INTERN, "class %d", class);
  MPI_OK(MPI_Allreduce(&errors, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)); /* Other collectives still work. */
  CHECK(taken ? all == 0 : all > 0, "%d ranks have got an error", all);
  if (taken) check_taken(which, recv);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Case* which = NULL;
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (argc > 1 && strcmp(argv[1], kCases[i].name) == 0) which = &kCases[i];
  }
  if (which == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  int* send = calloc(kMostBytes, 1);
  int* recv = calloc(kMostBytes, 1);
  fill(which, 1);
  for (int i = 0; i < which->warm; ++i) MPI_OK(call(which, send, recv));
  const int fatal = argc > 2 && strcmp(argv[2], "fatal") == 0, once = argc > 2 && strcmp(argv[2], "once") == 0;
  const int taken = argc > 2 && strcmp(argv[2], "taken") == 0;
  if (!fatal) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  disagree(which, send, recv, taken);
  if (fatal) printf("SURVIVED\n");
  fill(which, 1);
  if (!once) {
    MPI_OK(checked_alltoall(MPI_COMM_WORLD, 5, 1));
    MPI_OK(call(which, send, recv));
  }
  free(send);
  free(recv);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
