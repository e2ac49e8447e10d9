/* The program gives back datatypes and communicators while exchanges are pending. It makes, uses and frees handles many times, with nothing left
 * behind.
 *
 *   lifetimes [ROUNDS [COMMUNICATORS]] */
#include <dirent.h>

#include "check.h"
#include "deadline.h"
#include "exchange.h"
#include "host.h"
#include "persistent.h"
#include "random_numbers.h"

enum { kSeconds = 60, kPending = 24, kMostSeconds = 60 };

static Random common;

/* Chooses the form of an exchange whose communicator will be freed before its end. */
static int freeable_form(int index) {
  return freed_communicator_works(index % kForms == kTypes) ? index % kForms : kVector;
}

static void wait_all(Exchange* exchanges, int count, const char* what) {
  MPI_Request requests[kPending];
  for (int i = 0; i < count; ++i) requests[i] = exchanges[i].request;
  MPI_OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < count; ++i) {
    exchanges[i].request = requests[i];
    end_exchange(&exchanges[i], what);
  }
}

/* Makes a type whose number may be given to the next type that is made. */
static void make_and_free_types(void) {
  MPI_Datatype types[8];
  for (int i = 0; i < 8; ++i) {
    MPI_Type_vector(2 + i, 1, 3, MPI_CHAR, &types[i]);
    MPI_Type_commit(&types[i]);
  }
  for (int i = 0; i < 8; ++i) MPI_Type_free(&types[i]);
}

static void types_freed_after_start(MPI_Comm comm, int count) {
  Exchange exchanges[kPending];
  for (int i = 0; i < kPending; ++i) {
    begin_exchange(&exchanges[i], comm, i % (2 * kForms), count + i, i);
    free_types(&exchanges[i]);
    make_and_free_types();
  }
  wait_all(exchanges, kPending, "types freed after the start");
}

/* All ranks free the handle, some before and some after their exchange has ended. */
static void communicator_freed_while_pending(MPI_Comm parent, int count) {
  Exchange exchanges[3];
  MPI_Comm comm;
  MPI_OK(MPI_Comm_dup(parent, &comm));
  const int used_before = random_below(&common, 2);
  if (used_before) MPI_OK(checked_alltoall(comm, 2, 1));
  for (int i = 0; i < 3; ++i) begin_exchange(&exchanges[i], comm, freeable_form(i), count, i);
  MPI_OK(MPI_Comm_free(&comm));
  CHECK(comm == MPI_COMM_NULL, "the handle is not null");
  MPI_OK(checked_alltoall(parent, 3, 1));
  wait_all(exchanges, 3, "communicator freed");
}

/* Communicators are made, each with an exchange pending, while those before are being freed. */
static void chain_of_communicators(MPI_Comm parent, int count) {
  Exchange exchanges[8];
  for (int i = 0; i < 8; ++i) {
    MPI_Comm comm;
    MPI_OK(MPI_Comm_dup(parent, &comm));
    begin_exchange(&exchanges[i], comm, freeable_form(i), count, i);
    MPI_OK(MPI_Comm_free(&comm));
    if (i % 3 == 2) {
      MPI_OK(MPI_Wait(&exchanges[i].request, MPI_STATUS_IGNORE));
    }
  }
  wait_all(exchanges, 8, "chain of communicators");
}

/* MPICH waits in MPI_Comm_disconnect until no request refers to the communicator. */
static void disconnected_after_few(MPI_Comm parent, int count) {
  for (int many = 1; many <= 4; ++many) {
    Exchange exchanges[4];
    MPI_Comm comm;
    MPI_OK(MPI_Comm_dup(parent, &comm));
    if (rank_in(comm) == 0) usleep(2000); /* The others have begun theirs, and wait. */
    for (int i = 0; i < many; ++i) begin_exchange(&exchanges[i], comm, i, count, i);
    wait_all(exchanges, many, "communicator to be disconnected");
    MPI_OK(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL, "the handle is not null");
    MPI_OK(checked_alltoall(parent, 3, 1));
  }
}

static void out_of_order(MPI_Comm comm, int count) {
  Exchange exchanges[kPending];
  Random own = random_from((uint64_t)rank_in(comm) + random_word(&common));
  for (int i = 0; i < kPending; ++i) begin_exchange(&exchanges[i], comm, i % (2 * kForms), count + i, i);
  for (int left = kPending; left > 0; --left) {
    const int which = random_below(&own, left);
    MPI_OK(MPI_Wait(&exchanges[which].request, MPI_STATUS_IGNORE));
    end_exchange(&exchanges[which], "out of order");
    exchanges[which] = exchanges[left - 1];
  }
}

/* There are many more than crossrail has room for at first, and they are completed out of order. */
static void hundreds(MPI_Comm comm) {
  enum { kHundreds = 700, kStep = 263 };
  Exchange* exchanges = malloc(kHundreds * sizeof *exchanges);
  for (int i = 0; i < kHundreds; ++i) begin_exchange(&exchanges[i], comm, kPlain, 1 + i % 3, i);
  for (int i = 0; i < kHundreds; ++i) {
    Exchange* exchange = &exchanges[i * kStep % kHundreds];
    MPI_OK(MPI_Wait(&exchange->request, MPI_STATUS_IGNORE));
    end_exchange(exchange, "hundreds");
  }
  free(exchanges);
}

static void empty_exchanges(MPI_Comm comm) {
  Exchange exchanges[2 * kForms];
  for (int i = 0; i < 2 * kForms; ++i) begin_exchange(&exchanges[i], comm, i, 0, i);
  wait_all(exchanges, 2 * kForms, "of nothing");
}

typedef struct {
  long descriptors, mappings, resident_kb;
} Use;

static Use use_now(void) {
  Use use = {0, 0, 0};
  long pages = 0;
  char line[512];
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++use.descriptors;
  closedir(folder);
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) ++use.mappings;
  fclose(maps);
  FILE* statm = fopen("/proc/self/statm", "r");
  if (fscanf(statm, "%*d %ld", &pages) != 1) pages = 0;
  fclose(statm);
  use.resident_kb = pages * (sysconf(_SC_PAGESIZE) / 1024);
  return use;
}

static void short_lived(int index) {
  MPI_Comm comm;
  Exchange exchange;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  begin_exchange(&exchange, comm, freeable_form(index), 1 + index % 300, index);
  if (index % 2 == 0) MPI_OK(MPI_Comm_free(&comm));
  MPI_OK(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE));
  if (index % 2 == 1) MPI_OK(MPI_Comm_free(&comm));
  end_exchange(&exchange, "short-lived communicator");
}

static void nothing_left_behind(int communicators) {
  for (int i = 0; i < communicators / 4; ++i) short_lived(i);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  const Use before = use_now();
  for (int i = 0; i < communicators; ++i) short_lived(i);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  const Use after = use_now();
  printf("rank %d: descriptors %ld > %ld, mappings %ld > %ld, resident %ld > %ld KB\n", rank_in(MPI_COMM_WORLD),
         before.descriptors, after.descriptors, before.mappings, after.mappings, before.resident_kb, after.resident_kb);
  CHECK(after.descriptors <= before.descriptors + 2, "descriptors leak");
  CHECK(after.mappings <= before.mappings + 10, "mappings leak");
  CHECK(after.resident_kb <= before.resident_kb + 4096 + communicators, "memory leaks"); /* What MPI itself keeps is small. */
}

int main(int argc, char** argv) {
  static const int counts[] = {1, 40, 3000, 30000};
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 8, communicators = argc > 2 ? atoi(argv[2]) : 1000;
  common = random_from(42);
  MPI_Comm reversed;
  MPI_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_in(MPI_COMM_WORLD), &reversed));
  for (int round = 0; round < rounds; ++round) {
    const MPI_Comm comm = round % 2 ? reversed : MPI_COMM_WORLD;
    const int count = counts[round % 4];
    begin_case(kSeconds, "types freed after the start, %d ints", count);
    types_freed_after_start(comm, count);
    begin_case(kSeconds, "communicator freed while pending, %d ints", count);
    communicator_freed_while_pending(comm, count);
    begin_case(kSeconds, "chain of communicators, %d ints", count);
    chain_of_communicators(comm, count);
    begin_case(kSeconds, "disconnected after few exchanges, %d ints", count);
    disconnected_after_few(comm, count);
    begin_case(kSeconds, "completed out of order, %d ints", count);
    out_of_order(comm, count);
    begin_case(kSeconds, "hundreds");
    hundreds(comm);
    begin_case(kSeconds, "exchanges of nothing");
    empty_exchanges(comm);
  }
  MPI_OK(MPI_Comm_free(&reversed));
  begin_case(kMostSeconds, "%d communicators of one exchange each", communicators);
  nothing_left_behind(communicators);
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
