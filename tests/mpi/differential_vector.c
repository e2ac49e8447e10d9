/* The program makes random MPI_Alltoallv and MPI_Alltoallw calls (with large counts too, where MPI has them). Each is compared byte by byte with the
 * standard's definition, one send and one receive between every two ranks. The comparison includes gaps between blocks, guards, and the send side.
 *
 *   differential_vector SEED CALLS [LARGEST]      most granules a block
 *
 * PRETEND_DRIVER is the path of a pretended device driver (pretend_driver.c). With it about half of the sides lie in its memory. */
#include <dlfcn.h>

#include "check.h"
#include "pretend_driver.h"
#include "random_comms.h"
#include "random_numbers.h"
#include "random_types.h"
#include "vector_sides.h"

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define LARGE_COUNTS 1
#else
#define LARGE_COUNTS 0
#endif

static int largest = 40;

/* Computes the definition by messages on the same communicator. */
static void define(const Sides* sides, const VectorSide* send, MPI_Comm comm) {
  const VectorSide* recv = &sides->recv;
  unsigned char* expected = sides->expected + (recv->base - recv->memory);
  const unsigned char* from = sides->in_place ? sides->before + (recv->base - recv->memory) : send->base;
  MPI_Request* requests = malloc(2 * sizeof *requests * (size_t)sides->ranks);
  for (int i = 0; i < sides->ranks; ++i) {
    const Part* in = &recv->parts[i];
    const Part* out = &send->parts[i];
    MPI_OK(PMPI_Irecv(expected + in->place, in->count, in->type, i, 5, comm, &requests[2 * i]));
    MPI_OK(PMPI_Isend(from + out->place, out->count, out->type, i, 5, comm, &requests[2 * i + 1]));
  }
  MPI_OK(PMPI_Waitall(2 * sides->ranks, requests, MPI_STATUSES_IGNORE));
  free(requests);
}

static int call_with_ints(const Sides* sides, const Arguments* out, const Arguments* in, MPI_Comm comm) {
  if (sides->many_types) {
    return MPI_Alltoallw(out->address, out->counts, out->places, out->types, in->address, in->counts, in->places,
                         in->types, comm);
  }
  return MPI_Alltoallv(out->address, out->counts, out->places, out->types == NULL ? MPI_DATATYPE_NULL : out->types[0],
                       in->address, in->counts, in->places, in->types[0], comm);
}

static int call_with_large(const Sides* sides, const Arguments* out, const Arguments* in, MPI_Comm comm) {
#if LARGE_COUNTS
  if (sides->many_types) {
    return MPI_Alltoallw_c(out->address, out->large_counts, out->large_places, out->types, in->address,
                           in->large_counts, in->large_places, in->types, comm);
  }
  return MPI_Alltoallv_c(out->address, out->large_counts, out->large_places,
                         out->types == NULL ? MPI_DATATYPE_NULL : out->types[0], in->address, in->large_counts,
                         in->large_places, in->types[0], comm);
#else
  return call_with_ints(sides, out, in, comm);
#endif
}

static void* (*device_alloc)(size_t);
static void (*device_free)(void*);
static void (*device_open)(int);

static void load_driver(void) {
  const char* path = getenv("PRETEND_DRIVER");
  if (path == NULL) return;
  void* driver = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  device_alloc = (void* (*)(size_t))dlsym(driver, "pretend_alloc");
  device_free = (void (*)(void*))dlsym(driver, "pretend_free");
  device_open = (void (*)(int))dlsym(driver, "pretend_open");
}

/* Moves a side between host memory and the driver's. Returns what the side lay in until now. */
static unsigned char* move_side(VectorSide* side, unsigned char* to) {
  unsigned char* from = side->memory;
  device_open(1);
  memcpy(to, from, side->bytes);
  device_open(0);
  side->base = to + (side->base - from);
  side->memory = to;
  return from;
}

/* In place, MPI ignores the send arguments, whatever they are. */
static const Arguments kInPlace = {.address = NULL};

static int do_call(Sides* sides, MPI_Comm comm) {
  Arguments in = arguments_of(&sides->recv, sides);
  Arguments out = kInPlace;
  if (sides->in_place) {
    out.address = MPI_IN_PLACE;
  } else {
    out = arguments_of(&sides->send, sides);
  }
  const int code = (sides->large ? call_with_large : call_with_ints)(sides, &out, &in, comm);
  free_arguments(&in);
  if (!sides->in_place) free_arguments(&out);
  return code;
}

static int do_call_on_device(Sides* sides, MPI_Comm comm) {
  unsigned char* host[2] = {NULL, NULL};
  VectorSide* const side[2] = {&sides->send, &sides->recv};
  for (int i = 0; i < 2; ++i) {
    if (sides->on_device[i]) host[i] = move_side(side[i], device_alloc(side[i]->bytes));
  }
  const int code = do_call(sides, comm);
  for (int i = 0; i < 2; ++i) {
    if (sides->on_device[i]) device_free(move_side(side[i], host[i]));
  }
  return code;
}

static void compare(const Sides* sides, int index, const char* name) {
  const VectorSide* recv = &sides->recv;
  size_t wrong = 0, first = 0;
  for (size_t i = recv->bytes; i-- > 0;) {
    if (recv->memory[i] == sides->expected[i]) continue;
    first = i;
    ++wrong;
  }
  CHECK(wrong == 0, "call %d on '%s': %zu bytes wrong from %ld; %s%s%s%s; %d ranks", index, name, wrong,
        (long)first - (long)(recv->base - recv->memory), sides->many_types ? "w" : "v", sides->large ? "_c" : "",
        sides->in_place ? ", in place" : "", sides->absolute ? ", absolute" : "", sides->ranks);
}

static void one_call(Sides* sides, int index, MPI_Comm comm, const char* name) {
  sides->expected = copy_of(sides->recv.memory, sides->recv.bytes);
  sides->before = copy_of(sides->recv.memory, sides->recv.bytes);
  unsigned char* sent = copy_of(sides->send.memory, sides->send.bytes);
  define(sides, sides->in_place ? &sides->recv : &sides->send, comm);
  MPI_OK(device_alloc != NULL ? do_call_on_device(sides, comm) : do_call(sides, comm));
  compare(sides, index, name);
  CHECK(memcmp(sent, sides->send.memory, sides->send.bytes) == 0, "call %d on '%s' wrote its send side", index, name);
  free(sides->expected);
  free(sides->before);
  free(sent);
}

static void shared_choices(Sides* sides, Random* common, int inter) {
  static const int granules[] = {1, 1, 2, 4, 6, 12, 24};
  static const char patterns[] = {'d', 'd', 's', 'z', 'o', 'e'};
  do {
    sides->unit = random_below(common, kUnits);
  } while (has_long_double(sides->unit)); /* Its padding may travel or not. */
  sides->granule = granules[random_below(common, 7)];
  sides->pattern = patterns[random_below(common, 6)];
  sides->many_types = random_below(common, 2);
  sides->in_place = !inter && random_below(common, 4) == 0;
  sides->large = LARGE_COUNTS && random_below(common, 3) == 0;
  sides->largest = random_below(common, 20) == 0 ? 50 * largest : largest;
  sides->seed = random_word(common);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  const int calls = argc > 2 ? atoi(argv[2]) : 100;
  if (argc > 3) largest = atoi(argv[3]);
  load_driver();
  Comms comms = make_comms(seed);
  Random common = random_from(seed), own = random_from(seed * 1000 + 7 + (unsigned)rank_in(MPI_COMM_WORLD));
  for (int i = 0; i < calls; ++i) {
    Sides sides = {.ranks = 0};
    const int which = random_below(&common, comms.count);
    const MPI_Comm comm = comms.comm[which];
    shared_choices(&sides, &common, comms.inter[which]);
    if (comm == MPI_COMM_NULL) continue;
    sides.inter = comms.inter[which];
    make_sides(&sides, comm, &own);
    /* Calls that crossrail leaves to the MPI library are excluded, since that library knows nothing of this device. */
    for (int side = 0; side < 2; ++side) sides.on_device[side] = !sides.inter && sides.ranks > 1 && random_below(&own, 2);
    one_call(&sides, i, comm, comms.name[which]);
    free_sides(&sides);
  }
  free_comms(&comms);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
