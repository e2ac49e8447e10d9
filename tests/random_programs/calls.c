/* These are the calls themselves: blocking, nonblocking and persistent, with ints and with large counts. */
#include <stdlib.h>
#include <string.h>

#include "exchanges.h"
#include "persistent.h"
#include "streams.h"

typedef struct {
  void* address;
  int *counts, *places;
  MPI_Count* large_counts;
  MPI_Aint* large_places;
  MPI_Datatype* types;
  int count; /* It is the first one. */
  int own;   /* The arrays are its own. */
} Arguments;

/* Makes the type with the base in it, to be used from MPI_BOTTOM. Elements lie as far from each other as before. */
static MPI_Datatype absolute(const Type* type, const unsigned char* base) {
  MPI_Aint address;
  const int one = 1;
  MPI_Datatype at, made;
  MPI_Get_address(base, &address);
  MPI_Type_create_hindexed(1, &one, &address, type->made, &at);
  MPI_Type_create_resized(at, address + type->lower, extent_of(type), &made);
  MPI_Type_commit(&made);
  MPI_Type_free(&at);
  return made;
}

static int is_empty(const Side* side) {
  for (int i = 0; i < side->blocks; ++i) {
    if (count_of(side, i) > 0) return 0;
  }
  return 1;
}

static MPI_Datatype* types_of(const Side* side, const unsigned char* base, int absolutely) {
  const int types = side->form == 'w' ? side->blocks : 1;
  MPI_Datatype* const all = malloc(sizeof *all * (size_t)(types + 1));
  for (int i = 0; i < types; ++i) all[i] = absolutely ? absolute(&side->types[i], base) : side->types[i].made;
  return all;
}

static Arguments arguments_of(const Side* side, MPI_Datatype* types, void* address) {
  Arguments made = {.address = address, .types = types, .count = (int)side->counts[0], .own = 1};
  const size_t counts = side->form == 'a' ? 1 : (size_t)side->blocks;
  made.counts = malloc(counts * sizeof *made.counts);
  made.places = malloc(counts * sizeof *made.places);
  made.large_counts = malloc(counts * sizeof *made.large_counts);
  made.large_places = malloc(counts * sizeof *made.large_places);
  for (size_t i = 0; i < counts; ++i) {
    made.large_counts[i] = made.counts[i] = (int)side->counts[i];
    made.large_places[i] = made.places[i] = (int)side->places[i];
  }
  return made;
}

/* Ranks may pass garbage where a side is ignored, as it is in place, or means something at the root only. */
static Arguments ignored(const Exchange* one) {
  static MPI_Datatype none[1];
  none[0] = MPI_DATATYPE_NULL;
  Arguments made = {.address = MPI_IN_PLACE, .types = none};
  if (!is_rooted(one)) return made;
  void* const nowhere = one->number % 2 == 0 ? NULL : (void*)0x1230;
  if (!one->in_place || world_rank() != one->root) made.address = nowhere;
  made.counts = made.places = nowhere;
  made.large_counts = nowhere;
  made.large_places = nowhere;
  made.count = -5;
  return made;
}

/* Between two groups, the ranks of the root's group say so. */
static int root_argument(const Exchange* one) {
  const int* const group_of = one->team->group_of;
  const int its = group_of[one->root];
  if (one->team->inter && its == group_of[world_rank()]) return one->root == world_rank() ? MPI_ROOT : MPI_PROC_NULL;
  int index = 0;
  while (one->team->member[its][index] != one->root) ++index;
  return index;
}

static void free_arguments(Arguments* arguments) {
  if (!arguments->own) return;
  free(arguments->counts);
  free(arguments->places);
  free(arguments->large_counts);
  free(arguments->large_places);
}

#define SENT_INTS out->address, out->counts, out->places
#define RECEIVED_INTS in->address, in->counts, in->places
#define SENT_LARGE out->address, out->large_counts, out->large_places
#define RECEIVED_LARGE in->address, in->large_counts, in->large_places
#define PLAIN GATHERED, ONE_RECEIVED

#define REDUCED out->address, in->address, in->count, in->types[0], one->reduction.handle

#define GATHERED out->address, out->count, out->types[0]
#define ONE_RECEIVED in->address, in->count, in->types[0]
#define SCATTERED(counts) out->address, in->address, one->counts, in->types[0], one->reduction.handle

#if HAVE_PERSISTENT
#define IF_PERSISTENT(call) \
  if (one->mode == 'p') return call
#else
#define IF_PERSISTENT(call) (void)0
#endif
/* The mode chooses MPI_Name, MPI_Iname or MPI_Name_init; `suffix` is _c or nothing. */
#define CALL(name, nonblocking, suffix, ...)                                              \
  do {                                                                                    \
    if (one->mode == 'b' || one->mode == 'q') return MPI_##name##suffix(__VA_ARGS__, comm);                   \
    IF_PERSISTENT(MPI_##name##_init##suffix(__VA_ARGS__, comm, MPI_INFO_NULL, request));  \
    return MPI_##nonblocking##suffix(__VA_ARGS__, comm, request);                         \
  } while (0)

static int call_ints(const Exchange* one, const Arguments* out, const Arguments* in, MPI_Request* request) {
  const MPI_Comm comm = one->comm;
  switch (one->form) {
    case 'a': CALL(Alltoall, Ialltoall, , PLAIN);
    case 'v': CALL(Alltoallv, Ialltoallv, , SENT_INTS, out->types[0], RECEIVED_INTS, in->types[0]);
    case 'w': CALL(Alltoallw, Ialltoallw, , SENT_INTS, out->types, RECEIVED_INTS, in->types);
    case 'g': CALL(Allgather, Iallgather, , PLAIN);
    case 'h': CALL(Allgatherv, Iallgatherv, , GATHERED, RECEIVED_INTS, in->types[0]);
    case 'r': CALL(Allreduce, Iallreduce, , REDUCED);
    case 't': CALL(Reduce_scatter, Ireduce_scatter, , SCATTERED(ints));
    case 'G': CALL(Gather, Igather, , PLAIN, root_argument(one));
    case 'H': CALL(Gatherv, Igatherv, , GATHERED, RECEIVED_INTS, in->types[0], root_argument(one));
    case 'S': CALL(Scatter, Iscatter, , PLAIN, root_argument(one));
    case 'T': CALL(Scatterv, Iscatterv, , SENT_INTS, out->types[0], ONE_RECEIVED, root_argument(one));
    default: CALL(Reduce_scatter_block, Ireduce_scatter_block, , REDUCED);
  }
}

#if LARGE_COUNTS
static int call_large(const Exchange* one, const Arguments* out, const Arguments* in, MPI_Request* request) {
  const MPI_Comm comm = one->comm;
  switch (one->form) {
    case 'a': CALL(Alltoall, Ialltoall, _c, PLAIN);
    case 'v': CALL(Alltoallv, Ialltoallv, _c, SENT_LARGE, out->types[0], RECEIVED_LARGE, in->types[0]);
    case 'w': CALL(Alltoallw, Ialltoallw, _c, SENT_LARGE, out->types, RECEIVED_LARGE, in->types);
    case 'g': CALL(Allgather, Iallgather, _c, PLAIN);
    case 'h': CALL(Allgatherv, Iallgatherv, _c, GATHERED, RECEIVED_LARGE, in->types[0]);
    case 'r': CALL(Allreduce, Iallreduce, _c, REDUCED);
    case 't': CALL(Reduce_scatter, Ireduce_scatter, _c, SCATTERED(larges));
    case 'G': CALL(Gather, Igather, _c, PLAIN, root_argument(one));
    case 'H': CALL(Gatherv, Igatherv, _c, GATHERED, RECEIVED_LARGE, in->types[0], root_argument(one));
    case 'S': CALL(Scatter, Iscatter, _c, PLAIN, root_argument(one));
    case 'T': CALL(Scatterv, Iscatterv, _c, SENT_LARGE, out->types[0], ONE_RECEIVED, root_argument(one));
    default: CALL(Reduce_scatter_block, Ireduce_scatter_block, _c, REDUCED);
  }
}
#endif

static Arguments prepare(Exchange* one, int receives) {
  const Side* const side = receives ? &one->in : &one->out;
  const Area* const area = receives ? &one->to : &one->from;
  const int absolutely = (one->flags & (receives ? kAbsoluteIn : kAbsoluteOut)) != 0;
  MPI_Datatype* const types = types_of(side, area->address, absolutely);
  void* address = absolutely ? MPI_BOTTOM : area->address;
  if ((one->flags & kNullWhenEmpty) != 0 && is_empty(side)) address = NULL;
  one->given[receives] = types;
  one->own_types[receives] = absolutely ? (side->form == 'w' ? side->blocks : 1) : 0;
  return arguments_of(side, types, address);
}

/* Counts and places lie on the device, one array behind the other. Where the side has none there, they stay as they were. */
static Arguments with_lists_on_device(Exchange* one, int receives, const Arguments* given) {
  Arguments made = *given;
  const size_t bytes = sizeof(int) * (size_t)(receives ? one->in : one->out).blocks;
  if (open_driver_of_process() == NULL || one->form != 'v' || (one->flags & (receives ? kListsIn : kListsOut)) == 0) return made;
  if (one->lists[receives].at == NULL) one->lists[receives] = take_device_memory(kWholeAllocation, 2 * bytes);
  int* const there = (int*)(void*)one->lists[receives].at;
  open_driver_of_process()->copy(there, given->counts, bytes);
  open_driver_of_process()->copy(there + bytes / sizeof(int), given->places, bytes);
  made.counts = there;
  made.places = there + bytes / sizeof(int);
  return made;
}

/* Returns whether it has been enqueued. */
static int call_in_stream(Exchange* one, const Arguments* given) {
  const StreamCalls* const calls = stream_calls();
  void* const stream = stream_of(one->stream);
  const MPI_Comm comm = one->comm;
  const Arguments *out = &given[0], *in = &given[1];
  if (calls == NULL || strchr("whtGHST", one->form) != NULL || (one->form == 'v' && one->in_place)) return 0;
  if (one->form == 'a') return calls->alltoall(PLAIN, comm, stream) == MPI_SUCCESS;
  if (one->form == 'g') return calls->allgather(PLAIN, comm, stream) == MPI_SUCCESS;
  if (one->form == 'r') return calls->allreduce(REDUCED, comm, stream) == MPI_SUCCESS;
  if (one->form == 's') return calls->reduce_scatter_block(REDUCED, comm, stream) == MPI_SUCCESS;
  const Arguments lists[2] = {with_lists_on_device(one, 0, out), with_lists_on_device(one, 1, in)};
  out = &lists[0], in = &lists[1];
  return calls->alltoallv(SENT_INTS, out->types[0], RECEIVED_INTS, in->types[0], comm, stream) == MPI_SUCCESS;
}

static int call_by_mode(Exchange* one, const Arguments* both, MPI_Request* request) {
  if (one->mode == 'q' && (one->enqueued = call_in_stream(one, both)) != 0) return MPI_SUCCESS;
#if LARGE_COUNTS
  if (one->large) return call_large(one, &both[0], &both[1], request);
#endif
  return call_ints(one, &both[0], &both[1], request);
}

int call_again(Exchange* one) {
  Arguments both[2];
  for (int i = 0; i < 2; ++i) memcpy(&both[i], one->arguments[i], sizeof both[i]);
  return call_by_mode(one, both, NULL);
}

int call_mpi(Exchange* one, MPI_Request* request) {
  Arguments both[2] = {one->out.types == NULL ? ignored(one) : prepare(one, 0), one->in.types == NULL ? ignored(one) : prepare(one, 1)};
  const int code = call_by_mode(one, both, request);
  for (int i = 0; i < 2; ++i) {
    one->arguments[i] = malloc(sizeof both[i]);
    memcpy(one->arguments[i], &both[i], sizeof both[i]);
  }
  return code;
}

void free_arguments_of(Exchange* one) {
  for (int i = 0; i < 2; ++i) {
    if (one->lists[i].at != NULL) give_device_memory_back(&one->lists[i]);
    free(one->given[i]);
    if (one->arguments[i] == NULL) continue;
    free_arguments(one->arguments[i]);
    free(one->arguments[i]);
  }
}
