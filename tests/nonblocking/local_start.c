/* Starting is local: the call returns though others have not come, and may never come before they have heard from this rank. This holds also as the
 * first use of a communicator.
 *
 *   local_start [persistent]      the starts of persistent requests */
#include "check.h"
#include "deadline.h"
#include "exchange.h"
#include "persistent.h"

enum { kTag = 18, kSeconds = 60, kMany = 80 };

static int rank, persistent;
static MPI_Comm world;

static void prepare(Exchange* exchange, MPI_Comm comm, int form, int count, int salt) {
  make_exchange(exchange, comm, form, count);
  fill_exchange(exchange, salt);
  if (persistent) init_exchange(exchange, MPI_INFO_NULL);
}

static void start(Exchange* exchange) {
  if (persistent) {
    MPI_OK(MPI_Start(&exchange->request));
  } else {
    start_exchange(exchange);
  }
}

static void finish(Exchange* exchange, const char* what) {
  MPI_OK(MPI_Wait(&exchange->request, MPI_STATUS_IGNORE));
  if (persistent) MPI_OK(MPI_Request_free(&exchange->request));
  end_exchange(exchange, what);
}

static MPI_Comm make_comm(int used_before) {
  MPI_Comm comm;
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  if (used_before) MPI_OK(checked_alltoall(comm, 2, 5));
  return comm;
}

/* Rank 0 speaks when it has started; the others start when they have heard it. */
static void speak_or_hear(void) {
  int token = 0;
  if (rank != 0) MPI_OK(MPI_Recv(&token, 1, MPI_INT, 0, kTag, world, MPI_STATUS_IGNORE));
  for (int to = 1; rank == 0 && to < size_of_comm(world); ++to) MPI_OK(MPI_Ssend(&token, 1, MPI_INT, to, kTag, world));
}

static void start_before_others(int form, int count, int used_before) {
  MPI_Comm comm = make_comm(used_before);
  Exchange exchange;
  prepare(&exchange, comm, form, count, 1);
  if (rank == 0) start(&exchange);
  speak_or_hear();
  if (rank != 0) start(&exchange);
  finish(&exchange, "start before others");
  MPI_OK(MPI_Comm_free(&comm));
}

static void many_before_others(int form, int count, int used_before) {
  MPI_Comm comm = make_comm(used_before);
  Exchange exchanges[kMany];
  for (int i = 0; i < kMany; ++i) prepare(&exchanges[i], comm, (form + i) % kForms, (i * 7) % count, i);
  for (int i = 0; i < kMany && rank == 0; ++i) start(&exchanges[i]);
  speak_or_hear();
  for (int i = 0; i < kMany && rank != 0; ++i) start(&exchanges[i]);
  for (int i = 0; i < kMany; ++i) finish(&exchanges[(i * 37) % kMany], "many before others");
  MPI_OK(MPI_Comm_free(&comm));
}

/* Odd ranks begin with the other communicator; nobody waits before both are started. */
static void in_opposite_orders(int form, int count, int used_before) {
  MPI_Comm comms[2] = {make_comm(used_before), make_comm(used_before)};
  Exchange exchanges[2];
  for (int i = 0; i < 2; ++i) prepare(&exchanges[i], comms[i], (form + i) % kForms, count, i);
  for (int i = 0; i < 2; ++i) start(&exchanges[(i + rank) % 2]);
  for (int i = 0; i < 2; ++i) finish(&exchanges[(i + rank / 2) % 2], "opposite orders");
  for (int i = 0; i < 2; ++i) MPI_OK(MPI_Comm_free(&comms[i]));
}

/* Rank 0 has started when it enters the blocking call that the others need before they start. */
static void before_a_blocking_call(int form, int count, int used_before) {
  MPI_Comm comm = make_comm(used_before), blocking = make_comm(used_before);
  Exchange exchange;
  prepare(&exchange, comm, form, count, 4);
  if (rank == 0) start(&exchange);
  MPI_OK(checked_alltoall(blocking, count, 9));
  if (rank != 0) start(&exchange);
  MPI_OK(checked_alltoall(blocking, 1, 2));
  finish(&exchange, "before a blocking call");
  MPI_OK(MPI_Comm_free(&comm));
  MPI_OK(MPI_Comm_free(&blocking));
}

/* The same communicator has pending, blocking, nonblocking and blocking calls. Rank 0 comes late to the blocking ones. */
static void around_blocking_calls(int form, int count, int used_before) {
  MPI_Comm comm = make_comm(used_before);
  Exchange exchanges[2];
  for (int i = 0; i < 2; ++i) prepare(&exchanges[i], comm, (form + i) % kForms, count, i);
  for (int i = 0; i < 2; ++i) {
    start(&exchanges[i]);
    if (rank == 0) usleep(2000);
    MPI_OK(checked_alltoall(comm, count, i));
  }
  for (int i = 2; i-- > 0;) finish(&exchanges[i], "around blocking calls");
  MPI_OK(MPI_Comm_free(&comm));
}

typedef struct {
  const char* name;
  void (*run)(int form, int count, int used_before);
} Case;

static const Case kCases[] = {
    {"start before others", start_before_others},     {"many before others", many_before_others},
    {"in opposite orders", in_opposite_orders},       {"before a blocking call", before_a_blocking_call},
    {"around blocking calls", around_blocking_calls},
};

int main(int argc, char** argv) {
  static const int counts[] = {1, 100, 20000};
  MPI_Init(&argc, &argv);
  persistent = argc > 1 && strcmp(argv[1], "persistent") == 0;
  rank = rank_in(MPI_COMM_WORLD);
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &world));
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    for (int variant = 0; variant < 3 * kForms * 2; ++variant) {
      const int count = counts[variant % 3], form = variant / 3 % kForms, used_before = variant / 9;
      begin_case(kSeconds, "rank %d: %s, %s%s of %d ints, %s", rank, kCases[i].name, persistent ? "persistent " : "",
                 form_name((Form)form), count, used_before ? "communicator used before" : "first use");
      kCases[i].run(form, count, used_before);
    }
  }
  MPI_OK(MPI_Comm_free(&world));
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
