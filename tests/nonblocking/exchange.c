#include "exchange.h"

#include "check.h"
#include "host.h"
#include "persistent.h"

enum { kGuard = 64, kPoison = (int)0xeeeeeeee };

const char* form_name(Form form) {
  static const char* const names[] = {"Ialltoall", "Ialltoallv", "Ialltoallw"};
  return names[form];
}

/* Returns the ints between two ranks. As many go back, so that it may be done in place. */
static int length(const Exchange* exchange, int peer) {
  if (exchange->form == kPlain) return exchange->count;
  return exchange->count * ((exchange->rank + peer) % 3) / 2;
}

/* In the other form, odd ranks' blocks are received with gaps. */
static int step(const Exchange* exchange, int peer) { return exchange->form == kTypes && peer % 2 == 1 ? 2 : 1; }

static int side_ints(const Exchange* exchange) { return exchange->ranks * exchange->slot + 2 * kGuard; }

static int* make_side(const Exchange* exchange) {
  return malloc(sizeof(int) * (size_t)side_ints(exchange));
}

void make_exchange(Exchange* exchange, MPI_Comm comm, int form, int count) {
  memset(exchange, 0, sizeof *exchange);
  exchange->comm = comm;
  exchange->rank = rank_in(comm);
  exchange->ranks = size_of_comm(comm);
  exchange->form = (Form)(form % kForms);
  exchange->in_place = form >= kForms && in_place_works(exchange->form == kPlain);
  exchange->count = count;
  exchange->slot = form % kForms == kPlain ? count : (form % kForms == kTypes ? 2 : 1) * count + 3;
  exchange->send_memory = make_side(exchange);
  exchange->recv_memory = make_side(exchange);
  exchange->send = exchange->send_memory + kGuard;
  exchange->recv = exchange->recv_memory + kGuard;
  exchange->request = MPI_REQUEST_NULL;
  const size_t ranks = (size_t)exchange->ranks;
  exchange->counts = malloc(ranks * sizeof(int));
  exchange->places = malloc(ranks * sizeof(int));
  exchange->send_types = malloc(ranks * sizeof(MPI_Datatype));
  exchange->recv_types = malloc(ranks * sizeof(MPI_Datatype));
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &exchange->spaced);
  MPI_Type_commit(&exchange->spaced);
  for (int peer = 0; peer < exchange->ranks; ++peer) {
    exchange->counts[peer] = length(exchange, peer);
    exchange->places[peer] = exchange->slot * peer * (exchange->form == kTypes ? (int)sizeof(int) : 1);
    exchange->send_types[peer] = MPI_INT;
    exchange->recv_types[peer] = step(exchange, peer) == 2 ? exchange->spaced : MPI_INT;
  }
}

/* Writes a whole side with its guards: what this rank sends, or has received in the end. */
static void write_side(const Exchange* exchange, int* memory, int received) {
  const int spaced = received || exchange->in_place, rank = exchange->rank;
  for (int i = 0; i < side_ints(exchange); ++i) memory[i] = kPoison;
  for (int peer = 0; peer < exchange->ranks; ++peer) {
    int* block = memory + kGuard + exchange->slot * peer;
    const int stride = spaced ? step(exchange, peer) : 1;
    for (int i = 0; i < length(exchange, peer); ++i) {
      block[i * stride] = received ? number(peer, rank, i + exchange->salt) : number(rank, peer, i + exchange->salt);
    }
  }
}

void fill_exchange(Exchange* exchange, int salt) {
  exchange->salt = salt;
  write_side(exchange, exchange->send_memory, 0);
  if (exchange->in_place) {
    write_side(exchange, exchange->recv_memory, 0);
  } else {
    for (int i = 0; i < side_ints(exchange); ++i) exchange->recv_memory[i] = kPoison;
  }
}

void start_exchange(Exchange* exchange) {
  Exchange* const e = exchange;
  if (e->form == kPlain && e->in_place) {
    MPI_OK(MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, e->recv, e->count, MPI_INT, e->comm, &e->request));
  } else if (e->form == kPlain) {
    MPI_OK(MPI_Ialltoall(e->send, e->count, MPI_INT, e->recv, e->count, MPI_INT, e->comm, &e->request));
  } else if (e->form == kVector) {
    MPI_OK(MPI_Ialltoallv(e->in_place ? MPI_IN_PLACE : e->send, e->counts, e->places, MPI_INT, e->recv, e->counts,
                          e->places, MPI_INT, e->comm, &e->request));
  } else {
    MPI_OK(MPI_Ialltoallw(e->in_place ? MPI_IN_PLACE : e->send, e->counts, e->places, e->send_types, e->recv,
                          e->counts, e->places, e->recv_types, e->comm, &e->request));
  }
}

void init_exchange(Exchange* exchange, MPI_Info info) {
#if HAVE_PERSISTENT
  Exchange* const e = exchange;
  void* const send = e->in_place ? MPI_IN_PLACE : e->send;
  if (e->form == kPlain) {
    MPI_OK(MPI_Alltoall_init(send, e->count, MPI_INT, e->recv, e->count, MPI_INT, e->comm, info, &e->request));
  } else if (e->form == kVector) {
    MPI_OK(MPI_Alltoallv_init(send, e->counts, e->places, MPI_INT, e->recv, e->counts, e->places, MPI_INT, e->comm,
                              info, &e->request));
  } else {
    MPI_OK(MPI_Alltoallw_init(send, e->counts, e->places, e->send_types, e->recv, e->counts, e->places, e->recv_types,
                              e->comm, info, &e->request));
  }
#else
  (void)exchange, (void)info;
#endif
}

void free_types(Exchange* exchange) {
  if (exchange->spaced != MPI_DATATYPE_NULL) MPI_OK(MPI_Type_free(&exchange->spaced));
}

static void compare(const Exchange* exchange, const int* memory, int received, const char* what) {
  int* expected = make_side(exchange);
  write_side(exchange, expected, received);
  int wrong = 0, first = -1;
  for (int i = side_ints(exchange); i-- > 0;) {
    if (memory[i] == expected[i]) continue;
    ++wrong;
    first = i;
  }
  CHECK(wrong == 0, "%s: %s of %d ints%s: rank %d of %d has %d wrong ints on its %s side, the first at %d: %#x, not %#x",
        what, form_name(exchange->form), exchange->count, exchange->in_place ? " in place" : "", exchange->rank,
        exchange->ranks, wrong, received ? "receive" : "send", first - kGuard, (unsigned)memory[first < 0 ? 0 : first],
        (unsigned)expected[first < 0 ? 0 : first]);
  free(expected);
}

void check_exchange(const Exchange* exchange, const char* what) {
  compare(exchange, exchange->recv_memory, 1, what);
  compare(exchange, exchange->send_memory, 0, what);
}

void free_exchange(Exchange* exchange) {
  free_types(exchange);
  free(exchange->send_memory);
  free(exchange->recv_memory);
  free(exchange->counts);
  free(exchange->places);
  free(exchange->send_types);
  free(exchange->recv_types);
}

void begin_exchange(Exchange* exchange, MPI_Comm comm, int form, int count, int salt) {
  make_exchange(exchange, comm, form, count);
  fill_exchange(exchange, salt);
  start_exchange(exchange);
}

void end_exchange(Exchange* exchange, const char* what) {
  CHECK(exchange->request == MPI_REQUEST_NULL, "%s: the request is not null after its end", what);
  check_exchange(exchange, what);
  free_exchange(exchange);
}
