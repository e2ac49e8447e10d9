/* The program makes persistent exchanges: many starts of few requests, together with persistent messages, completed in all ways; inactive requests;
 * and what may be given back while they exist.
 *
 *   persistent [STARTS [SEED]] */
#include "persistent.h"

#include "check.h"
#include "deadline.h"
#include "exchange.h"
#include "host.h"
#include "random_numbers.h"

enum { kSeconds = 60, kTogether = 8, kMessages = 4, kAll = kTogether + 2 * kMessages };

static MPI_Comm comms[3];
static Random common, own;

static int is_empty(const MPI_Status* status) {
  int bytes = -1;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && bytes == 0;
}

/* Ends all that are active, one way or another; those that are not must not keep it waiting. */
static void complete(MPI_Request* requests, int count) {
  int indices[kAll], done = 0, index;
  MPI_Status statuses[kAll];
  const int first = inactive_works(1) ? 0 : 1, end = inactive_works(0) ? 6 : 4;
  switch (first + random_below(&own, end - first)) {
    case 0:
      while (!done) MPI_OK(MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE));
      return;
    case 1:
      for (int i = count; i-- > 0;) MPI_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
      return;
    case 2: MPI_OK(MPI_Waitall(count, requests, statuses)); return;
    case 3:
      for (int i = 0; i < count; ++i) {
        for (done = 0; !done;) MPI_OK(MPI_Request_get_status(requests[i], &done, &statuses[0]));
        for (done = 0; !done;) MPI_OK(MPI_Test(&requests[i], &done, &statuses[0]));
      }
      return;
    case 4:
      do MPI_OK(MPI_Waitany(count, requests, &index, &statuses[0]));
      while (index != MPI_UNDEFINED);
      CHECK(is_empty(&statuses[0]), "Waitany of inactive requests: not an empty status");
      return;
    default:
      do MPI_OK(MPI_Waitsome(count, requests, &done, indices, statuses));
      while (done != MPI_UNDEFINED);
  }
}

static void inactive_are_nothing_to_all(MPI_Request* requests, int count) {
  MPI_Status statuses[kAll];
  int done = 0;
  MPI_OK(MPI_Waitall(count, requests, statuses));
  for (int i = 0; i < count; ++i) CHECK(is_empty(&statuses[i]), "Waitall: status %d is not empty", i);
  MPI_OK(MPI_Testall(count, requests, &done, statuses));
  CHECK(done && is_empty(&statuses[count - 1]), "Testall: %d", done);
}

/* All calls that complete must return at once and empty, as if these requests were null. */
static void inactive_are_nothing(MPI_Request* requests, int count) {
  int indices[kAll], done = 0, index = 0;
  MPI_Status status, statuses[kAll];
  if (!inactive_works(0)) return;
  MPI_OK(MPI_Wait(&requests[0], &status));
  CHECK(is_empty(&status), "Wait: not an empty status");
  MPI_OK(MPI_Test(&requests[0], &done, &status));
  CHECK(done && is_empty(&status), "Test: %d", done);
  MPI_OK(MPI_Waitany(count, requests, &index, &status));
  CHECK(index == MPI_UNDEFINED && is_empty(&status), "Waitany: %d", index);
  MPI_OK(MPI_Testany(count, requests, &index, &done, &status));
  CHECK(done && index == MPI_UNDEFINED && is_empty(&status), "Testany: %d %d", done, index);
  MPI_OK(MPI_Waitsome(count, requests, &index, indices, statuses));
  CHECK(index == MPI_UNDEFINED, "Waitsome: %d", index);
  MPI_OK(MPI_Testsome(count, requests, &index, indices, statuses));
  CHECK(index == MPI_UNDEFINED, "Testsome: %d", index);
  MPI_OK(MPI_Request_get_status(requests[0], &done, &status));
  CHECK(done && is_empty(&status), "Request_get_status: %d", done);
  if (inactive_works(1)) inactive_are_nothing_to_all(requests, count);
  for (int i = 0; i < count; ++i) CHECK(requests[i] != MPI_REQUEST_NULL, "inactive request %d became null", i);
}

static void prepare(Exchange* exchange, MPI_Comm comm, int form, int count, MPI_Info info) {
  make_exchange(exchange, comm, form, count);
  init_exchange(exchange, info);
  CHECK(exchange->request != MPI_REQUEST_NULL, "a null request from init");
}

static void start_and_end(Exchange* exchange, int salt, const char* what) {
  fill_exchange(exchange, salt);
  MPI_OK(MPI_Start(&exchange->request));
  complete(&exchange->request, 1);
  check_exchange(exchange, what);
}

static void end_of(Exchange* exchange) {
  MPI_OK(MPI_Request_free(&exchange->request));
  CHECK(exchange->request == MPI_REQUEST_NULL, "not null when freed");
  free_exchange(exchange);
}

static void many_starts(int starts) {
  Exchange exchange;
  prepare(&exchange, comms[0], kPlain, 5, MPI_INFO_NULL);
  for (int i = 0; i < starts; ++i) start_and_end(&exchange, i % 1000, "many starts");
  inactive_are_nothing(&exchange.request, 1);
  end_of(&exchange);
}

/* Makes persistent messages around a ring, to be completed together with exchanges. */
static void make_messages(MPI_Request* requests, int (*data)[2]) {
  const int rank = rank_in(comms[0]), size = size_of_comm(comms[0]);
  for (int i = 0; i < kMessages; ++i) {
    MPI_OK(MPI_Send_init(&data[i][0], 1, MPI_INT, (rank + 1) % size, i, comms[0], &requests[2 * i]));
    MPI_OK(MPI_Recv_init(&data[i][1], 1, MPI_INT, (rank + size - 1) % size, i, comms[0], &requests[2 * i + 1]));
  }
}

/* Starts of one communicator come in the same order on all ranks. One Startall holds one of each communicator. */
static void start_together(MPI_Request* requests, int round) {
  const int first = random_below(&common, kTogether);
  MPI_Request some[3 + 2 * kMessages];
  int indices[3], taken = 0;
  const int by_startall = round % 2;
  for (int i = 0; i < kTogether; ++i) {
    const int which = (first + i) % kTogether;
    if (by_startall && which < 3) {
      indices[taken++] = which;
    } else {
      MPI_OK(MPI_Start(&requests[which]));
    }
  }
  for (int i = 0; i < taken; ++i) some[i] = requests[indices[i]];
  for (int i = 0; i < 2 * kMessages; ++i) some[taken + i] = requests[kTogether + i];
  MPI_OK(MPI_Startall(taken + 2 * kMessages, some));
  for (int i = 0; i < taken; ++i) CHECK(requests[indices[i]] == some[i], "Startall changed a request");
}

/* There are eight on three communicators, most of them in a random order, with messages. */
static void together(int rounds, int count) {
  Exchange exchanges[kTogether];
  MPI_Request requests[kAll];
  int data[kMessages][2];
  const int rank = rank_in(comms[0]), size = size_of_comm(comms[0]);
  for (int i = 0; i < kTogether; ++i) {
    prepare(&exchanges[i], comms[i % 3], i % (2 * kForms), count + i, MPI_INFO_NULL);
    requests[i] = exchanges[i].request;
  }
  make_messages(requests + kTogether, data);
  inactive_are_nothing(requests, kAll);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kTogether; ++i) fill_exchange(&exchanges[i], round * 10 + i);
    for (int i = 0; i < kMessages; ++i) data[i][0] = number(rank, i, round);
    start_together(requests, round);
    if (round % 5 == 0) MPI_OK(checked_alltoall(comms[round % 3], 7, round));
    complete(requests, kAll);
    for (int i = 0; i < kTogether; ++i) check_exchange(&exchanges[i], "together");
    for (int i = 0; i < kMessages; ++i) CHECK(data[i][1] == number((rank + size - 1) % size, i, round), "message %d", i);
  }
  inactive_are_nothing(requests, kAll);
  for (int i = 0; i < 2 * kMessages; ++i) MPI_OK(MPI_Request_free(&requests[kTogether + i]));
  for (int i = kTogether; i-- > 0;) end_of(&exchanges[i]);
}

static void with_info(void) {
  static const char strict[] = "mpi_assert_strict_persistent_collective_ordering"; /* The key is too long for Open MPI. */
  MPI_Info info;
  Exchange exchange;
  MPI_OK(MPI_Info_create(&info));
  MPI_OK(MPI_Info_set(info, "a_key_that_nobody_knows", "7"));
  if (sizeof strict <= MPI_MAX_INFO_KEY) MPI_OK(MPI_Info_set(info, strict, "true"));
  prepare(&exchange, comms[1], kVector, 30, info);
  MPI_OK(MPI_Info_free(&info));
  start_and_end(&exchange, 3, "with an info");
  end_of(&exchange);
}

static void given_back_early(int count) {
  for (int form = 0; form < 2 * kForms; ++form) {
    MPI_Comm comm;
    Exchange exchange;
    MPI_OK(MPI_Comm_dup(comms[0], &comm));
    prepare(&exchange, comm, form, count, MPI_INFO_NULL);
    if (freed_persistent_types_work(form % kForms == kTypes)) free_types(&exchange);
    for (int i = 0; i < 3; ++i) start_and_end(&exchange, i, "types freed after init");
    if (!freed_persistent_communicator_works()) {
      end_of(&exchange);
      MPI_OK(MPI_Comm_free(&comm));
      continue;
    }
    fill_exchange(&exchange, 4);
    MPI_OK(MPI_Start(&exchange.request));
    MPI_OK(MPI_Comm_free(&comm));
    complete(&exchange.request, 1);
    check_exchange(&exchange, "communicator freed while active");
    start_and_end(&exchange, 5, "started after its communicator was freed");
    end_of(&exchange);
  }
}

/* Some are never started, or only sometimes. They are made and freed again and again. */
static void freed_unused(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    Exchange exchange;
    prepare(&exchange, comms[i % 3], i % kForms, 1 + i % 50, MPI_INFO_NULL);
    if (i % 4 == 0) start_and_end(&exchange, i, "among unused ones");
    end_of(&exchange);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int starts = argc > 1 ? atoi(argv[1]) : 10000;
  const unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  const int rank = rank_in(MPI_COMM_WORLD);
  if (!HAVE_PERSISTENT) return MPI_Finalize() == MPI_SUCCESS ? 77 : 1;
  common = random_from(seed);
  own = random_from(seed * 1000 + (unsigned)rank + 1);
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
  MPI_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]));
  MPI_OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &comms[2]));
  begin_case(kSeconds, "%d starts of one request", starts);
  many_starts(starts);
  for (int count = 1; count < 40000; count *= 30) {
    begin_case(kSeconds, "requests together, %d ints", count);
    together(16, count);
    begin_case(kSeconds, "types and communicators given back early, %d ints", count);
    given_back_early(count);
  }
  begin_case(kSeconds, "with an info");
  with_info();
  begin_case(kSeconds, "freed unused");
  freed_unused(40);
  for (int i = 0; i < 3; ++i) MPI_OK(MPI_Comm_free(&comms[i]));
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
