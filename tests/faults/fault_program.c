/* The program makes a little of all that crossrail carries, while something fails (fault_shim.c). Every call ends, with the right data or with an
 * error of MPI, and nothing stays open.
 *
 *   fault_program [threads]      at the end it says what came of the calls and what is open
 *
 * With HOST_DEVICE, buffers of some calls are in the memory of a device made of host memory. */
#include <dirent.h>
#include <unistd.h>

#include "check.h"
#include "device_memory_of_tests.h"
#include "persistent.h"

enum { kSizes = 4, kPending = 12, kReductions = 3, kSeconds = 25 };

static int right_calls, wrong_calls;

static void note(int code) {
  right_calls += code == MPI_SUCCESS;
  wrong_calls += code != MPI_SUCCESS;
}

/* The type has every second int of a row. */
typedef struct {
  int *out, *in, *counts, *places;
  MPI_Datatype* types;
  MPI_Datatype with_gaps;
  int ranks, each;
} Exchange;

static Exchange make_exchange(MPI_Comm comm, int each, int salt) {
  Exchange one = {.ranks = size_of_comm(comm), .each = each};
  const size_t ranks = (size_t)one.ranks, ints = ranks * (size_t)each * 2 + 2;
  one.out = malloc(ints * sizeof(int));
  one.in = malloc(ints * sizeof(int));
  one.counts = malloc(ranks * sizeof(int));
  one.places = malloc(ranks * sizeof(int));
  one.types = malloc(ranks * sizeof *one.types);
  MPI_Type_vector(each, 1, 2, MPI_INT, &one.with_gaps);
  MPI_Type_commit(&one.with_gaps);
  for (int to = 0; to < one.ranks; ++to) {
    one.counts[to] = 1;
    one.places[to] = to * each * 2 * (int)sizeof(int);
    one.types[to] = one.with_gaps;
    for (int i = 0; i < each; ++i) one.out[2 * (to * each + i)] = number(rank_in(comm), to, i + salt);
  }
  for (size_t i = 0; i < ints; ++i) one.in[i] = -1;
  return one;
}

static void end_exchange(Exchange* one, MPI_Comm comm, int salt, int code) {
  int wrong = 0;
  for (int from = 0; from < one->ranks && code == MPI_SUCCESS; ++from) {
    for (int i = 0; i < one->each; ++i) {
      wrong += one->in[2 * (from * one->each + i)] != number(from, rank_in(comm), i + salt);
      wrong += one->in[2 * (from * one->each + i) + 1] != -1;
    }
  }
  CHECK(wrong == 0, "WRONG: %d ints of blocks of %d", wrong, one->each);
  note(code);
  MPI_Type_free(&one->with_gaps);
  free(one->out);
  free(one->in);
  free(one->counts);
  free(one->places);
  free(one->types);
}

static void call_typed(MPI_Comm comm, int each) {
  Exchange one = make_exchange(comm, each, 3);
  const int code = MPI_Alltoallw(one.out, one.counts, one.places, one.types, one.in, one.counts, one.places, one.types, comm);
  end_exchange(&one, comm, 3, code);
}

static void call_pending(MPI_Comm comm, int each) {
  Exchange one = make_exchange(comm, each, 5);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Ialltoallw(one.out, one.counts, one.places, one.types, one.in, one.counts, one.places, one.types, comm, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  end_exchange(&one, comm, 5, code);
}

static void call_persistent(MPI_Comm comm, int each) {
#if HAVE_PERSISTENT
  Exchange one = make_exchange(comm, each, 7);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Alltoallw_init(one.out, one.counts, one.places, one.types, one.in, one.counts, one.places, one.types, comm,
                                MPI_INFO_NULL, &request);
  for (int start = 0; start < 2 && code == MPI_SUCCESS; ++start) {
    code = MPI_Start(&request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  end_exchange(&one, comm, 7, code);
#else
  (void)comm, (void)each;
#endif
}

/* These are ints in host memory, or of a device. */
typedef struct {
  int *at, *seen; /* The processor touches the latter. */
} Ints;

static Ints make_ints(size_t count) {
  Ints ints = {NULL, NULL};
  if (device_alloc != NULL) ints.at = device_alloc(count * sizeof(int), 0);
  ints.seen = device_alloc != NULL ? touchable(ints.at) : malloc(count * sizeof(int));
  if (device_alloc == NULL) ints.at = ints.seen;
  memset(ints.seen, 0xff, count * sizeof(int));
  return ints;
}

static void end_ints(const Ints* ints) {
  if (device_alloc != NULL) device_free(ints->at);
  else free(ints->at);
}

static void call_vector(MPI_Comm comm, int each) {
  const int ranks = size_of_comm(comm), rank = rank_in(comm);
  int counts[2][16], places[2][16], total = 0;
  Ints out = make_ints((size_t)(ranks * (each + ranks))), in = make_ints((size_t)(ranks * (each + ranks)));
  for (int peer = 0; peer < ranks; ++peer) {
    for (int side = 0; side < 2; ++side) {
      counts[side][peer] = each + (side == 0 ? (rank * 2 + peer) % ranks : (peer * 2 + rank) % ranks);
      places[side][peer] = peer * (each + ranks);
    }
    for (int i = 0; i < counts[0][peer]; ++i) out.seen[places[0][peer] + i] = number(rank, peer, i);
  }
  const int code = MPI_Alltoallv(out.at, counts[0], places[0], MPI_INT, in.at, counts[1], places[1], MPI_INT, comm);
  for (int peer = 0; peer < ranks && code == MPI_SUCCESS; ++peer) {
    for (int i = 0; i < counts[1][peer]; ++i) total += in.seen[places[1][peer] + i] != number(peer, rank, i);
    total += in.seen[places[1][peer] + counts[1][peer]] != -1;
  }
  CHECK(total == 0, "WRONG: %d ints of MPI_Alltoallv of %d", total, each);
  note(code);
  end_ints(&out);
  end_ints(&in);
}

static int sum_of(int ranks, int to, int i) {
  int sum = 0;
  for (int from = 0; from < ranks; ++from) sum += number(from, to, i);
  return sum;
}

/* Calls MPI_Allreduce, MPI_Allgather or MPI_Reduce_scatter_block. */
static void call_reduction(MPI_Comm comm, int each, int which) {
  const int ranks = size_of_comm(comm), rank = rank_in(comm);
  Ints out = make_ints((size_t)(ranks * each)), in = make_ints((size_t)(ranks * each));
  for (int to = 0; to < ranks; ++to) {
    for (int i = 0; i < each; ++i) out.seen[to * each + i] = number(rank, which == 2 ? to : 0, i);
  }
  const int code = which == 0   ? MPI_Allreduce(out.at, in.at, each, MPI_INT, MPI_SUM, comm)
                   : which == 1 ? MPI_Allgather(out.at, each, MPI_INT, in.at, each, MPI_INT, comm)
                                : MPI_Reduce_scatter_block(out.at, in.at, each, MPI_INT, MPI_SUM, comm);
  int wrong = 0;
  for (int at = 0; at < (which == 1 ? ranks * each : each) && code == MPI_SUCCESS; ++at) {
    const int i = at % each;
    wrong += in.seen[at] != (which == 1 ? number(at / each, 0, i) : sum_of(ranks, which == 2 ? rank : 0, i));
  }
  CHECK(wrong == 0, "WRONG: %d ints of reduction %d of %d", wrong, which, each);
  note(code);
  end_ints(&out);
  end_ints(&in);
}

static void call_all(MPI_Comm comm) {
  static const int sizes[kSizes] = {1, 60, 3000, 40000};
  for (int i = 0; i < kSizes; ++i) {
    note(checked_alltoall(comm, sizes[i], i));
    call_typed(comm, sizes[i]);
    call_vector(comm, sizes[i]);
    for (int which = 0; which < kReductions; ++which) call_reduction(comm, sizes[i], which);
  }
  for (int i = 0; i < kPending; ++i) call_pending(comm, sizes[i % kSizes]);
  for (int i = 0; i < kSizes; ++i) call_persistent(comm, sizes[i]);
  note(checked_alltoall(comm, 10, 1));
}

static int open_files(void) {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static int mapped_segments(void) {
  char line[500];
  int count = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) count += strstr(line, "crossrail") != NULL && strstr(line, ".so") == NULL;
  fclose(maps);
  return count;
}

/* Returns the fewest of several looks. A thread of crossrail's has its report open for a moment, and communicators may close their segments later. */
static int fewest(int (*count)(void)) {
  int least = count();
  for (int look = 0; look < 8; ++look) {
    usleep(5000);
    const int now = count();
    if (now < least) least = now;
  }
  return least;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  alarm(kSeconds);
  if (getenv("HOST_DEVICE") != NULL) open_driver();
  MPI_Comm comm;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int round = 0; round < 2; ++round) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    call_all(comm);
    MPI_Comm_free(&comm);
  }
  fprintf(stderr, "ENDED rank %d: %d right, %d errors, %d open, %d mapped%s\n", rank_in(MPI_COMM_WORLD), right_calls, wrong_calls,
          fewest(open_files), fewest(mapped_segments), failed_checks > 0 ? ", WRONG" : "");
  MPI_Finalize();
  return failed_checks > 0;
}
