/* The program makes random exchanges, nonblocking and persistent, many outstanding on many communicators, together with messages of its own and
 * blocking collectives. It completes them in a random order in all of MPI's ways, and compares each byte by byte with the standard's definition.
 *
 *   differential_nonblocking SEED ROUNDS [SECONDS [LARGEST [serialized | multiple]]]
 *
 * With SECONDS it goes on with new rounds until they are over: this is a search for hours. A failure names its round, and SEED = that round's seed
 * and ROUNDS = 1 do it again. LARGEST is the most granules a block. If a level is given, each round belongs to a new thread, at this level. */
#include <pthread.h>

#include "check.h"
#include "deadline.h"
#include "host.h"
#include "persistent.h"
#include "pool.h"
#include "random_call.h"

enum { kCalls = 64, kMessages = 100, kBlocking = 12, kPersistent = 8, kMostInts = 3000, kSeconds = 60 };

typedef struct {
  int from, to, ints, index;
  int* data;
  int receives;
} Message;

static Random common, own;
static Pool pool;
static Comms comms;
static MPI_Comm world; /* It is for messages. */
static RandomCall* persistent[kPersistent];
static int largest = 30, calls_left, messages_left, blocking_left;

static void call_ended(void* owner, MPI_Request* request, const MPI_Status* status) {
  RandomCall* const call = owner;
  (void)request, (void)status;
  check_call(call);
  free_call(call);
  free(call);
}

static void persistent_ended(void* owner, MPI_Request* request, const MPI_Status* status) {
  (void)request, (void)status;
  check_call(owner);
}

static void message_ended(void* owner, MPI_Request* request, const MPI_Status* status) {
  Message* const message = owner;
  (void)request;
  if (message->receives) {
    int ints = -1, wrong = 0;
    MPI_Get_count(status, MPI_INT, &ints);
    CHECK(status->MPI_SOURCE == message->from && status->MPI_TAG == 100 + message->index && ints == message->ints,
          "message %d: source %d, tag %d, %d ints", message->index, status->MPI_SOURCE, status->MPI_TAG, ints);
    for (int i = 0; i < message->ints; ++i) wrong += message->data[i] != number(message->from, message->to, i);
    CHECK(wrong == 0, "message %d: %d wrong", message->index, wrong);
  }
  free(message->data);
  free(message);
}

static void one_side(Message shared, int receives) {
  Message* const message = malloc(sizeof *message);
  *message = shared;
  message->receives = receives;
  message->data = malloc(sizeof(int) * (size_t)(message->ints + 1));
  for (int i = 0; i < message->ints; ++i) message->data[i] = receives ? -1 : number(message->from, message->to, i);
  MPI_Request* const request = &pool.requests[add_request(&pool, message, message_ended)];
  if (receives) {
    const int source = random_below(&own, 2) ? MPI_ANY_SOURCE : message->from;
    MPI_OK(MPI_Irecv(message->data, message->ints, MPI_INT, source, 100 + message->index, world, request));
  } else {
    MPI_OK(MPI_Isend(message->data, message->ints, MPI_INT, message->to, 100 + message->index, world, request));
  }
}

static void post_message(int index) {
  const int size = size_of_comm(world), rank = rank_in(world);
  const Message message = {.from = random_below(&common, size), .to = random_below(&common, size),
                           .ints = random_below(&common, random_below(&common, 5) == 0 ? kMostInts * 10 : 50), .index = index};
  if (rank == message.to) one_side(message, 1);
  if (rank == message.from) one_side(message, 0);
}

static void start_nonblocking(int index) {
  RandomCall* const call = calloc(1, sizeof *call);
  call->index = index;
  if (!choose_call(call, &comms, largest, &common)) {
    free(call);
    return;
  }
  prepare_call(call, &own);
  start_call(call, &pool.requests[add_request(&pool, call, call_ended)], &own);
}

/* The rank that starts it must have ended it before. All ranks start it at the same place among their calls. */
static void start_persistent(void) {
  RandomCall* const call = persistent[random_below(&common, kPersistent)];
  if (call == NULL) return;
  complete_one(&pool, call->place);
  refill_call(call, &own);
  pool.owners[call->place] = call;
  ++pool.active;
  MPI_OK(MPI_Start(&pool.requests[call->place]));
}

static void make_persistent(void) {
  for (int i = 0; i < kPersistent; ++i) {
    RandomCall* const call = calloc(1, sizeof *call);
    persistent[i] = NULL;
    call->index = -1 - i;
    if (!choose_call(call, &comms, largest, &common)) {
      free(call);
      continue;
    }
    prepare_call(call, &own);
    call->place = add_request(&pool, call, persistent_ended);
    init_call(call, &pool.requests[call->place]);
    pool.persistent[call->place] = 1;
    pool.owners[call->place] = NULL; /* It is inactive. */
    --pool.active;
    persistent[i] = call;
  }
}

static void free_persistent(void) {
  for (int i = 0; i < kPersistent; ++i) {
    if (persistent[i] == NULL) continue;
    MPI_OK(MPI_Request_free(&pool.requests[persistent[i]->place]));
    free_call(persistent[i]);
    free(persistent[i]);
  }
}

static void call_blocking(void) {
  const int which = random_below(&common, comms.count), way = random_below(&common, 5), salt = random_below(&common, 100);
  const MPI_Comm comm = comms.comm[which];
  int value = 7 + salt, sum = 0;
  if (comm == MPI_COMM_NULL || comms.inter[which]) return;
  const int size = size_of_comm(comm);
  switch (way) {
    case 0: MPI_OK(MPI_Barrier(comm)); break;
    case 1:
      MPI_OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
      CHECK(sum == size * value, "Allreduce: %d", sum);
      break;
    case 2:
      value = rank_in(comm) == size - 1 ? salt : -1;
      MPI_OK(MPI_Bcast(&value, 1, MPI_INT, size - 1, comm));
      CHECK(value == salt, "Bcast: %d", value);
      break;
    default: MPI_OK(checked_alltoall(comm, salt, salt));
  }
}

/* All ranks do one thing at this place. */
static void next_event(void) {
  int which = random_below(&common, calls_left + messages_left + blocking_left);
  if (which < calls_left) {
    --calls_left;
    if (HAVE_PERSISTENT && random_below(&common, 4) == 0) {
      start_persistent();
    } else {
      start_nonblocking(calls_left);
    }
  } else if ((which -= calls_left) < messages_left) {
    post_message(--messages_left);
  } else {
    --blocking_left;
    call_blocking();
  }
}

/* This makes ranks come at different times, and leaves calls alone for a while. */
static void compute(void) {
  volatile unsigned sum = 0;
  for (unsigned i = 0, steps = (unsigned)random_below(&own, 300000); i < steps; ++i) sum += i;
}

static void one_round(unsigned seed) {
  common = random_from(seed);
  own = random_from(seed * 1000ull + 7 + (unsigned)rank_in(world));
  memset(&pool, 0, sizeof pool);
  pool.random = &own;
  pool.avoids_inactive = !inactive_works(1);
  pool.avoids_test_all = !inactive_works(1);
  calls_left = kCalls;
  messages_left = kMessages;
  blocking_left = kBlocking;
  comms = make_comms(seed);
  if (HAVE_PERSISTENT) make_persistent();
  const int eager = random_below(&common, 3) * 20; /* It is in percent: few or many are outstanding. */
  while (calls_left + messages_left + blocking_left > 0) {
    next_event();
    if (random_below(&own, 10) == 0) compute();
    while (random_below(&own, 100) < eager) complete_some(&pool);
  }
  complete_all(&pool);
  if (HAVE_PERSISTENT) free_persistent();
  free_comms(&comms);
}

static void* round_of_thread(void* seed) {
  one_round(*(const unsigned*)seed);
  return NULL;
}

static void round_by(int own_thread, unsigned seed) {
  pthread_t thread;
  if (!own_thread) {
    one_round(seed);
    return;
  }
  pthread_create(&thread, NULL, round_of_thread, &seed);
  pthread_join(thread, NULL);
}

/* The program's rounds are right at MPI_THREAD_SERIALIZED, too, where MPI gives no more. */
static int level_of(const char* name) {
  if (strcmp(name, "serialized") == 0) return MPI_THREAD_SERIALIZED;
  return strcmp(name, "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

int main(int argc, char** argv) {
  const int level = level_of(argc > 5 ? argv[5] : "");
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, level, &provided);
  const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  const int rounds = argc > 2 ? atoi(argv[2]) : 3;
  const double seconds = argc > 3 ? atof(argv[3]) : 0, began = MPI_Wtime();
  if (argc > 4) largest = atoi(argv[4]);
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &world));
  for (int round = 0, more = 1; round < rounds || more; ++round) {
    begin_case(kSeconds, "rank %d: seed %u", rank_in(world), seed + (unsigned)round);
    const int failed_before = failed_checks;
    round_by(provided >= MPI_THREAD_SERIALIZED && level != MPI_THREAD_SINGLE, seed + (unsigned)round);
    if (failed_checks > failed_before) fprintf(stderr, "rank %d: wrong with seed %u\n", rank_in(world), seed + (unsigned)round);
    more = failed_checks == 0 && MPI_Wtime() - began < seconds;
    MPI_OK(MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MIN, world));
  }
  MPI_OK(MPI_Comm_free(&world));
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
