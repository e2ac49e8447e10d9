/* A pending exchange goes on while its process sits in any other blocking call of MPI:
 *
 *   rank 0     start; blocked until rank 1 has ended its exchange; wait
 *   rank 1     start; wait; release rank 0
 *   others     start; wait
 *
 * 'long_send' is the other way round: rank 0 sends a long message before it starts, and rank 1, which has begun to receive
 * it, waits for the exchange.
 *
 *   progress WAY... | all [persistent] [first BYTES] [last BYTES]
 *
 * It tries each way to be blocked, with blocks of 8 bytes to 2 MiB or what is said, times 8 each, on communicators used before and not. */
#include "check.h"
#include "deadline.h"
#include "exchange.h"
#include "persistent.h"

enum { kTag = 17, kSeconds = 60, kLongBytes = 1 << 20 };

/* Rank 0 is blocked in a call, and rank 1 lets it go. */
typedef struct {
  const char* name;
  void (*blocked)(void);
  void (*release)(void);
  int all_release;           /* Every rank but 0 takes part in the release. */
  void (*prepare)(void);     /* All ranks prepare before they start. */
} Way;

static MPI_Comm other; /* Nothing of the exchange happens on it. */
static MPI_Win window;
static int* window_memory;
static int token;

static void receive(void) { MPI_OK(MPI_Recv(&token, 1, MPI_INT, 1, kTag, other, MPI_STATUS_IGNORE)); }
static void send(void) { MPI_OK(MPI_Send(&token, 1, MPI_INT, 0, kTag, other)); }
static void send_synchronously(void) { MPI_OK(MPI_Ssend(&token, 1, MPI_INT, 1, kTag, other)); }
static void receive_from_first(void) { MPI_OK(MPI_Recv(&token, 1, MPI_INT, 0, kTag, other, MPI_STATUS_IGNORE)); }

static char* long_message;
static MPI_Request long_receive = MPI_REQUEST_NULL;

static void send_long(void) {
  const int rank = rank_in(other);
  long_message = calloc(kLongBytes, 1);
  if (rank == 0) MPI_OK(MPI_Send(long_message, kLongBytes, MPI_BYTE, 1, kTag, other));
  if (rank == 1) MPI_OK(MPI_Irecv(long_message, kLongBytes, MPI_BYTE, 0, kTag, other, &long_receive));
}

static void end_long(void) {
  MPI_OK(MPI_Wait(&long_receive, MPI_STATUS_IGNORE));
  free(long_message);
}

static void barrier(void) { MPI_OK(MPI_Barrier(other)); }

static void probe(void) {
  MPI_OK(MPI_Probe(1, kTag, other, MPI_STATUS_IGNORE));
  receive();
}

static void matched_probe(void) {
  MPI_Message message;
  MPI_OK(MPI_Mprobe(MPI_ANY_SOURCE, kTag, other, &message, MPI_STATUS_IGNORE));
  MPI_OK(MPI_Mrecv(&token, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
}

static void probe_again_and_again(void) {
  int here = 0;
  while (!here) MPI_OK(MPI_Iprobe(1, kTag, other, &here, MPI_STATUS_IGNORE));
  receive();
}

static void test_own_receive(void) {
  MPI_Request request;
  int done = 0;
  MPI_OK(MPI_Irecv(&token, 1, MPI_INT, 1, kTag, other, &request));
  while (!done) MPI_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
}

static void wait_for_any(void) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int index = -1;
  MPI_OK(MPI_Irecv(&token, 1, MPI_INT, 1, kTag, other, &requests[1]));
  MPI_OK(MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE));
  CHECK(index == 1, "Waitany ended number %d", index);
}

static void wait_for_own_receive(void) {
  MPI_Request request;
  MPI_OK(MPI_Irecv(&token, 1, MPI_INT, 1, kTag, other, &request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void exchange_messages(void) {
  int got;
  MPI_OK(MPI_Sendrecv(&token, 1, MPI_INT, 1, kTag, &got, 1, MPI_INT, 1, kTag, other, MPI_STATUS_IGNORE));
}

static void exchange_messages_back(void) {
  int got;
  MPI_OK(MPI_Sendrecv(&token, 1, MPI_INT, 0, kTag, &got, 1, MPI_INT, 0, kTag, other, MPI_STATUS_IGNORE));
}

static void reduce(void) {
  int sum;
  MPI_OK(MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, other));
}

static void exchange_blocking(void) { MPI_OK(checked_alltoall(other, 50, 3)); }

static void duplicate(void) {
  MPI_Comm made;
  MPI_OK(MPI_Comm_dup(other, &made));
  MPI_OK(MPI_Comm_free(&made));
}

static void make_window(void) {
  MPI_OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, other, &window_memory, &window));
}

static void open_fence(void) {
  make_window();
  MPI_OK(MPI_Win_fence(0, window));
}

static void close_fence(void) {
  MPI_OK(MPI_Win_fence(0, window));
  MPI_OK(MPI_Win_free(&window));
}

/* Rank 1 holds the lock of its window before rank 0 asks for it. */
static void hold_lock(void) {
  make_window();
  if (rank_in(other) == 1) MPI_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window));
  if (rank_in(other) == 1) MPI_OK(MPI_Get(&token, 1, MPI_INT, 1, 0, 1, MPI_INT, window)); /* The lock may be lazy. */
  if (rank_in(other) == 1) MPI_OK(MPI_Win_flush(1, window));
  MPI_OK(MPI_Barrier(other));
}

static void ask_for_lock(void) {
  int value = 5;
  MPI_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window));
  MPI_OK(MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window));
  MPI_OK(MPI_Win_unlock(1, window));
  MPI_OK(MPI_Win_free(&window));
}

static void give_lock(void) {
  if (rank_in(other) == 1) MPI_OK(MPI_Win_unlock(1, window));
  MPI_OK(MPI_Win_free(&window));
}

static const Way kWays[] = {
    {"recv", receive, send, 0, NULL},
    {"probe", probe, send, 0, NULL},
    {"mprobe", matched_probe, send, 0, NULL},
    {"iprobe", probe_again_and_again, send, 0, NULL},
    {"test", test_own_receive, send, 0, NULL},
    {"waitany", wait_for_any, send, 0, NULL},
    {"wait", wait_for_own_receive, send, 0, NULL},
    {"ssend", send_synchronously, receive_from_first, 0, NULL},
    {"long_send", end_long, end_long, 1, send_long},
    {"sendrecv", exchange_messages, exchange_messages_back, 0, NULL},
    {"barrier", barrier, barrier, 1, NULL},
    {"allreduce", reduce, reduce, 1, NULL},
    {"alltoall", exchange_blocking, exchange_blocking, 1, NULL},
    {"dup", duplicate, duplicate, 1, NULL},
    {"fence", close_fence, close_fence, 1, open_fence},
    {"lock", ask_for_lock, give_lock, 1, hold_lock},
};
enum { kWayCount = sizeof kWays / sizeof kWays[0] };

static void one_case(const Way* way, MPI_Comm comm, int form, int bytes, int persistent) {
  const int rank = rank_in(other);
  Exchange exchange;
  make_exchange(&exchange, comm, form, bytes / (int)sizeof(int));
  fill_exchange(&exchange, bytes % 1000 + form);
  if (persistent) init_exchange(&exchange, MPI_INFO_NULL);
  if (way->prepare != NULL) way->prepare();
  if (persistent) {
    MPI_OK(MPI_Start(&exchange.request));
  } else {
    start_exchange(&exchange);
  }
  if (rank == 0) way->blocked();
  if (bytes % 3 == 2) {
    MPI_OK(MPI_Waitall(1, &exchange.request, MPI_STATUSES_IGNORE));
  } else {
    MPI_OK(MPI_Wait(&exchange.request, MPI_STATUS_IGNORE));
  }
  if (rank == 1 || (rank > 1 && way->all_release)) way->release();
  if (persistent) MPI_OK(MPI_Request_free(&exchange.request));
  end_exchange(&exchange, way->name);
}

static void all_sizes(const Way* way, int persistent, int first_bytes, int last_bytes) {
  static int form;
  for (int bytes = first_bytes; bytes <= last_bytes; bytes *= 8) {
    for (int used_before = 0; used_before < 2; ++used_before) {
      MPI_Comm comm;
      MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
      if (used_before) MPI_OK(checked_alltoall(comm, 3, bytes % 100));
      form = (form + 1) % kForms;
      begin_case(kSeconds, "rank %d: rank 0 blocked in '%s' with a pending %s%s of %d bytes a block, %s",
                 rank_in(other), way->name, persistent ? "persistent " : "", form_name((Form)form), bytes,
                 used_before ? "communicator used before" : "first use of the communicator");
      one_case(way, comm, form, bytes, persistent);
      MPI_OK(MPI_Comm_free(&comm));
    }
  }
}

static int is_named(const Way* way, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "all") == 0 || strcmp(argv[i], way->name) == 0) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int persistent = 0, first_bytes = 8, last_bytes = 2 << 20;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "persistent") == 0) persistent = 1;
    if (strcmp(argv[i], "first") == 0 && i + 1 < argc) first_bytes = atoi(argv[i + 1]);
    if (strcmp(argv[i], "last") == 0 && i + 1 < argc) last_bytes = atoi(argv[i + 1]);
  }
  MPI_OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  for (int i = 0; i < kWayCount; ++i) {
    if (is_named(&kWays[i], argc, argv)) all_sizes(&kWays[i], persistent, first_bytes, last_bytes);
  }
  MPI_OK(MPI_Comm_free(&other));
  const int result = verdict();
  begin_case(kSeconds, "MPI_Finalize");
  MPI_Finalize();
  return result;
}
