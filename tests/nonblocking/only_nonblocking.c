/* The communicators of these programs see hardly anything but nonblocking exchanges. From some call on crossrail carries them, the same on all ranks,
 * however far one is ahead of the others.
 *
 *   only_nonblocking calls COUNT           of each form, one after the other, on a communicator of its own
 *   only_nonblocking end COUNT             so many, then MPI_Finalize
 *   only_nonblocking ahead                 rank 0 has begun all before the others begin any
 *   only_nonblocking large                 then a blocking collective, by its large count on every second rank
 *   only_nonblocking random SEED ROUNDS    on several communicators, completed in any order, with a blocking call
 *                                          or a new communicator now and then */
#include "check.h"
#include "deadline.h"
#include "exchange.h"
#include "persistent.h"
#include "random_numbers.h"

enum { kSeconds = 60, kTag = 7, kComms = 4, kOutstanding = 6, kSteps = 80, kAhead = 40 };

static int rank;

static void call_after_call(int count) {
  for (int form = 0; form < kForms; ++form) {
    MPI_Comm comm;
    MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int call = 0; call < count; ++call) {
      Exchange exchange;
      begin_exchange(&exchange, comm, form, 1 + call % 50, call);
      MPI_OK(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE));
      end_exchange(&exchange, "call after call");
    }
    MPI_OK(MPI_Comm_free(&comm));
  }
}

static void then_end(int count) {
  Exchange exchange;
  for (int call = 0; call < count; ++call) {
    begin_exchange(&exchange, MPI_COMM_WORLD, kPlain, 3, call);
    MPI_OK(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE));
    end_exchange(&exchange, "then the end");
  }
}

/* The others begin when rank 0, which has begun all, says so. */
static void one_is_ahead(void) {
  for (int form = 0; form < kForms; ++form) {
    MPI_Comm comm;
    Exchange exchanges[kAhead];
    int token = 0;
    MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (rank != 0) MPI_OK(MPI_Recv(&token, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int call = 0; call < kAhead; ++call) begin_exchange(&exchanges[call], comm, form, 1 + call, call);
    for (int to = 1; rank == 0 && to < size_of_comm(MPI_COMM_WORLD); ++to) {
      MPI_OK(MPI_Ssend(&token, 1, MPI_INT, to, kTag, MPI_COMM_WORLD));
    }
    for (int call = kAhead; call-- > 0;) {
      MPI_OK(MPI_Wait(&exchanges[call].request, MPI_STATUS_IGNORE));
      end_exchange(&exchanges[call], "one is ahead");
    }
    MPI_OK(MPI_Comm_free(&comm));
  }
}

enum { kCollectives = 4 };

static void any_collective(int which, MPI_Comm comm) {
  int in[64] = {0}, out = rank;
#if LARGE_COUNTS
  if (rank % 2 == 1) {
    if (which == 0) MPI_OK(MPI_Bcast_c(in, 1, MPI_INT, 0, comm));
    if (which == 1) MPI_OK(MPI_Reduce_c(&out, in, 1, MPI_INT, MPI_SUM, 0, comm));
    if (which == 2) MPI_OK(MPI_Allgather_c(&out, 1, MPI_INT, in, 1, MPI_INT, comm));
    if (which == 3) MPI_OK(MPI_Allreduce_c(&out, in, 1, MPI_INT, MPI_SUM, comm));
    return;
  }
#endif
  if (which == 0) MPI_OK(MPI_Bcast(in, 1, MPI_INT, 0, comm));
  if (which == 1) MPI_OK(MPI_Reduce(&out, in, 1, MPI_INT, MPI_SUM, 0, comm));
  if (which == 2) MPI_OK(MPI_Allgather(&out, 1, MPI_INT, in, 1, MPI_INT, comm));
  if (which == 3) MPI_OK(MPI_Allreduce(&out, in, 1, MPI_INT, MPI_SUM, comm));
}

/* The blocking collective opens the communicator for the exchanges, or on no rank. */
static void large_counts(void) {
  for (int which = 0; which < kCollectives; ++which) {
    MPI_Comm comm;
    MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int call = 0; call < kAhead; ++call) {
      Exchange exchange;
      begin_exchange(&exchange, comm, call % kForms, 1 + call, call);
      MPI_OK(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE));
      end_exchange(&exchange, "before and after a collective");
      if (call == 2) any_collective(which, comm);
    }
    MPI_OK(MPI_Comm_free(&comm));
  }
}

typedef struct {
  MPI_Comm comm;
  Exchange exchanges[kOutstanding];
  int busy[kOutstanding];
} Place;

static Place places[kComms];
static Random common, own;

static void finish(Place* place, int number) {
  end_exchange(&place->exchanges[number], "random");
  place->busy[number] = 0;
}

static void complete(Place* place, int number) {
  int done = 0;
  if (!place->busy[number]) return;
  if (random_below(&own, 2)) {
    MPI_OK(MPI_Wait(&place->exchanges[number].request, MPI_STATUS_IGNORE));
    done = 1;
  } else {
    MPI_OK(MPI_Test(&place->exchanges[number].request, &done, MPI_STATUS_IGNORE));
  }
  if (done) finish(place, number);
}

static void complete_all_of(Place* place) {
  for (int number = 0; number < kOutstanding; ++number) {
    while (place->busy[number]) complete(place, number);
  }
}

static void make_comm(Place* place, int kind) {
  switch (kind % 3) {
    case 0: MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &place->comm)); break;
    case 1: MPI_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &place->comm)); break;
    default: MPI_OK(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &place->comm)); break;
  }
}

static void one_step(int step) {
  Place* const place = &places[random_below(&common, kComms)];
  const int way = random_below(&common, 100), form = random_below(&common, kForms), count = random_below(&common, random_below(&common, 8) == 0 ? 9000 : 40);
  const int number = step % kOutstanding;
  if (way < 3) {
    complete_all_of(place);
    MPI_OK(MPI_Comm_free(&place->comm));
    make_comm(place, step);
  } else if (way < 5) {
    MPI_OK(MPI_Barrier(place->comm));
  } else if (way < 7) {
    MPI_OK(checked_alltoall(place->comm, 1 + count, step));
  } else {
    while (place->busy[number]) complete(place, number);
    begin_exchange(&place->exchanges[number], place->comm, form, count, step);
    place->busy[number] = 1;
  }
  if (random_below(&own, 4) == 0) usleep((useconds_t)random_below(&own, 300));
  for (int tries = random_below(&own, 4); tries > 0; --tries) complete(&places[random_below(&own, kComms)], random_below(&own, kOutstanding));
}

static void one_round(unsigned seed) {
  common = random_from(seed);
  own = random_from(seed * 1000ull + (unsigned)rank);
  for (int i = 0; i < kComms; ++i) make_comm(&places[i], i + (int)seed);
  for (int step = 0; step < kSteps; ++step) one_step(step);
  for (int i = 0; i < kComms; ++i) complete_all_of(&places[i]);
  for (int i = 0; i < kComms; ++i) MPI_OK(MPI_Comm_free(&places[i].comm));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* const what = argc > 1 ? argv[1] : "calls";
  const int number = argc > 2 ? atoi(argv[2]) : 100, rounds = argc > 3 ? atoi(argv[3]) : 10;
  rank = rank_in(MPI_COMM_WORLD);
  begin_case(kSeconds, "rank %d: %s", rank, what);
  if (strcmp(what, "calls") == 0) call_after_call(number);
  if (strcmp(what, "end") == 0) then_end(number);
  if (strcmp(what, "ahead") == 0) one_is_ahead();
  if (strcmp(what, "large") == 0) large_counts();
  for (int round = 0; strcmp(what, "random") == 0 && round < rounds; ++round) {
    begin_case(kSeconds, "rank %d: random %d", rank, number + round);
    one_round((unsigned)(number + round));
  }
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
