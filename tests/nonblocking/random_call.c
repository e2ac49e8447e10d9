#include "random_call.h"

#include "check.h"
#include "host.h"
#include "persistent.h"

int choose_call(RandomCall* call, const Comms* comms, int largest, Random* common) {
  static const int granules[] = {1, 1, 2, 4, 6, 12, 24};
  static const char patterns[] = {'d', 'd', 's', 'z', 'o', 'e'};
  Sides* const sides = &call->sides;
  const int which = random_below(common, comms->count), form = random_below(common, 3);
  call->comm = comms->comm[which];
  call->comm_name = comms->name[which];
  do {
    sides->unit = random_below(common, kUnits);
  } while (has_long_double(sides->unit)); /* Its padding may travel or not. */
  sides->granule = granules[random_below(common, 7)];
  sides->pattern = patterns[random_below(common, 6)];
  sides->plain = form == 0;
  sides->many_types = form == 2;
  sides->in_place = random_below(common, 4) == 0 && !comms->inter[which] && typed_in_place_works(sides->plain);
  sides->large = LARGE_COUNTS && random_below(common, 3) == 0;
  sides->largest = random_below(common, 20) == 0 ? 50 * largest : largest;
  if (sides->plain) sides->largest = random_below(common, sides->largest);
  sides->seed = random_word(common);
  sides->inter = comms->inter[which];
  return call->comm != MPI_COMM_NULL;
}

/* Computes the definition by messages on the same communicator. */
static void define(const RandomCall* call) {
  const Sides* sides = &call->sides;
  const VectorSide* recv = &sides->recv;
  const VectorSide* send = sides->in_place ? recv : &sides->send;
  unsigned char* expected = sides->expected + (recv->base - recv->memory);
  const unsigned char* from = sides->in_place ? sides->before + (recv->base - recv->memory) : send->base;
  MPI_Request* requests = malloc(2 * sizeof *requests * (size_t)sides->ranks);
  for (int i = 0; i < sides->ranks; ++i) {
    const Part* in = &recv->parts[i];
    const Part* out = &send->parts[i];
    MPI_OK(PMPI_Irecv(expected + in->place, in->count, in->type, i, 5, call->comm, &requests[2 * i]));
    MPI_OK(PMPI_Isend(from + out->place, out->count, out->type, i, 5, call->comm, &requests[2 * i + 1]));
  }
  MPI_OK(PMPI_Waitall(2 * sides->ranks, requests, MPI_STATUSES_IGNORE));
  free(requests);
}

static void expect(RandomCall* call) {
  Sides* const sides = &call->sides;
  sides->expected = copy_of(sides->recv.memory, sides->recv.bytes);
  sides->before = copy_of(sides->recv.memory, sides->recv.bytes);
  call->sent = copy_of(sides->send.memory, sides->send.bytes);
  define(call);
}

static void forget(RandomCall* call) {
  free(call->sides.expected);
  free(call->sides.before);
  free(call->sent);
}

void prepare_call(RandomCall* call, Random* own) {
  static const Arguments in_place = {.address = NULL};
  Sides* const sides = &call->sides;
  make_sides(sides, call->comm, own);
  expect(call);
  call->in = arguments_of(&sides->recv, sides);
  call->out = sides->in_place ? in_place : arguments_of(&sides->send, sides);
  if (sides->in_place) call->out.address = MPI_IN_PLACE;
}

/* The datatypes may go as soon as the call is started. A later type may get their numbers. */
static void free_types(RandomCall* call) {
  Sides* const sides = &call->sides;
  for (int sending = 0; sending < 2; ++sending) {
    VectorSide* side = sending ? &sides->send : &sides->recv;
    Arguments* arguments = sending ? &call->out : &call->in;
    for (int i = 0; i < arguments->made; ++i) MPI_Type_free(&arguments->types[i]);
    arguments->made = 0;
    for (int i = 0; i < side->layout_count; ++i) {
      free_layout(&side->layouts[i]);
      side->layouts[i].predefined = 1; /* Nothing is left to be freed. */
    }
  }
}

static MPI_Datatype one_type(const Arguments* arguments) {
  return arguments->types == NULL ? MPI_DATATYPE_NULL : arguments->types[0];
}

static int first_count(const Arguments* arguments) { return arguments->counts == NULL ? 0 : arguments->counts[0]; }

#if LARGE_COUNTS
static int start_large(const Sides* sides, const Arguments* out, const Arguments* in, MPI_Comm comm, MPI_Request* request) {
  if (sides->plain) {
    return MPI_Ialltoall_c(out->address, first_count(out), one_type(out), in->address, first_count(in), one_type(in),
                           comm, request);
  }
  if (sides->many_types) {
    return MPI_Ialltoallw_c(out->address, out->large_counts, out->large_places, out->types, in->address,
                            in->large_counts, in->large_places, in->types, comm, request);
  }
  return MPI_Ialltoallv_c(out->address, out->large_counts, out->large_places, one_type(out), in->address,
                          in->large_counts, in->large_places, one_type(in), comm, request);
}

static int init_large(const Sides* sides, const Arguments* out, const Arguments* in, MPI_Comm comm, MPI_Request* request) {
  if (sides->plain) {
    return MPI_Alltoall_init_c(out->address, first_count(out), one_type(out), in->address, first_count(in), one_type(in),
                               comm, MPI_INFO_NULL, request);
  }
  if (sides->many_types) {
    return MPI_Alltoallw_init_c(out->address, out->large_counts, out->large_places, out->types, in->address,
                                in->large_counts, in->large_places, in->types, comm, MPI_INFO_NULL, request);
  }
  return MPI_Alltoallv_init_c(out->address, out->large_counts, out->large_places, one_type(out), in->address,
                              in->large_counts, in->large_places, one_type(in), comm, MPI_INFO_NULL, request);
}
#endif

static int start(const Sides* sides, const Arguments* out, const Arguments* in, MPI_Comm comm, MPI_Request* request) {
#if LARGE_COUNTS
  if (sides->large) return start_large(sides, out, in, comm, request);
#endif
  if (sides->plain) {
    return MPI_Ialltoall(out->address, first_count(out), one_type(out), in->address, first_count(in), one_type(in), comm,
                         request);
  }
  if (sides->many_types) {
    return MPI_Ialltoallw(out->address, out->counts, out->places, out->types, in->address, in->counts, in->places,
                          in->types, comm, request);
  }
  return MPI_Ialltoallv(out->address, out->counts, out->places, one_type(out), in->address, in->counts, in->places,
                        one_type(in), comm, request);
}

/* Returns how it is called, for messages. */
static const char* how(const Sides* sides) {
  static char text[80];
  snprintf(text, sizeof text, "%s%s%s%s", sides->plain ? "plain" : sides->many_types ? "w" : "v", sides->large ? "_c" : "",
           sides->in_place ? ", in place" : "", sides->absolute ? ", absolute" : "");
  return text;
}

static void say(const RandomCall* call, const char* what) {
  if (getenv("VERBOSE") == NULL) return;
  fprintf(stderr, "[%d] %s %d on '%s': %s\n", rank_in(MPI_COMM_WORLD), what, call->index, call->comm_name, how(&call->sides));
}

void start_call(RandomCall* call, MPI_Request* request, Random* own) {
  say(call, "start");
  MPI_OK(start(&call->sides, &call->out, &call->in, call->comm, request));
  if (random_below(own, 2)) free_types(call);
}

void init_call(RandomCall* call, MPI_Request* request) {
  say(call, "init");
#if HAVE_PERSISTENT
  const Sides* const sides = &call->sides;
  const Arguments *out = &call->out, *in = &call->in;
#if LARGE_COUNTS
  if (sides->large) {
    MPI_OK(init_large(sides, out, in, call->comm, request));
    return;
  }
#endif
  if (sides->plain) {
    MPI_OK(MPI_Alltoall_init(out->address, first_count(out), one_type(out), in->address, first_count(in), one_type(in),
                             call->comm, MPI_INFO_NULL, request));
  } else if (sides->many_types) {
    MPI_OK(MPI_Alltoallw_init(out->address, out->counts, out->places, out->types, in->address, in->counts, in->places,
                              in->types, call->comm, MPI_INFO_NULL, request));
  } else {
    MPI_OK(MPI_Alltoallv_init(out->address, out->counts, out->places, one_type(out), in->address, in->counts, in->places,
                              one_type(in), call->comm, MPI_INFO_NULL, request));
  }
#else
  (void)call, (void)request;
#endif
}

void refill_call(RandomCall* call, Random* own) {
  Sides* const sides = &call->sides;
  say(call, "start again");
  for (size_t i = 0; i < sides->send.bytes; ++i) sides->send.memory[i] = (unsigned char)(random_word(own) >> 40);
  for (size_t i = 0; i < sides->recv.bytes; ++i) sides->recv.memory[i] = (unsigned char)(random_word(own) >> 40);
  forget(call);
  expect(call);
}

void check_call(RandomCall* call) {
  const Sides* const sides = &call->sides;
  const VectorSide* const recv = &sides->recv;
  size_t wrong = 0, first = 0;
  for (size_t i = recv->bytes; i-- > 0;) {
    if (recv->memory[i] == sides->expected[i]) continue;
    first = i;
    ++wrong;
  }
  CHECK(wrong == 0, "call %d on '%s': %zu bytes wrong from %ld; %s; %d ranks", call->index, call->comm_name, wrong,
        (long)first - (long)(recv->base - recv->memory), how(sides), sides->ranks);
  CHECK(memcmp(call->sent, sides->send.memory, sides->send.bytes) == 0, "call %d on '%s' wrote its send side",
        call->index, call->comm_name);
}

void free_call(RandomCall* call) {
  forget(call);
  free_arguments(&call->in);
  if (!call->sides.in_place) free_arguments(&call->out);
  free_sides(&call->sides);
}
