/* The program makes random calls of MPI_Gather, MPI_Scatter and their v forms, of their nonblocking and persistent forms and with large counts. The
 * calls have any root and layouts of each rank's own, in place or not, on several communicators. On ranks that are not the root the arguments of its
 * row are garbage. Results are compared byte by byte with the definition, gaps and guards included.
 *
 *   rooted SEED CALLS
 *
 * PRETEND_DRIVER is as in guarded_areas.h. */
#include "random_comms.h"
#include "rooted_call.h"

/* MPI is given garbage where the argument means nothing. */
#define GARBAGE ((void*)0x1230)
#define SIDES(Count, Place, its_counts, its_places)                                                                \
  const int here = is_root(call);                                                                                  \
  void* const own = has_own(call) ? call->own_area.base : MPI_IN_PLACE;                                            \
  const Count own_count = has_own(call) ? call->own.count : -5;                                                    \
  MPI_Datatype own_type = has_own(call) ? call->own.type : MPI_DATATYPE_NULL;                                      \
  void* const row = here ? call->row_area.base : GARBAGE;                                                          \
  const Count count = here ? call->row.count : -7;                                                                 \
  MPI_Datatype row_type = here ? call->row.type : MPI_DATATYPE_NULL;                                               \
  const Count* const counts = here ? its_counts : (const Count*)GARBAGE;                                           \
  const Place* const places = here ? its_places : (const Place*)GARBAGE;                                           \
  const int root = call->root;                                                                                     \
  MPI_Request request = MPI_REQUEST_NULL;

#define ALL_FOUR(prefix, suffix, ...)                                                                                                   \
  (call->gathers ? (call->counted ? prefix(Gather, gather, v##suffix)(own, own_count, own_type, row, counts, places, row_type, root, comm, ##__VA_ARGS__) \
                                  : prefix(Gather, gather, suffix)(own, own_count, own_type, row, count, row_type, root, comm, ##__VA_ARGS__))            \
                 : (call->counted ? prefix(Scatter, scatter, v##suffix)(row, counts, places, row_type, own, own_count, own_type, root, comm, ##__VA_ARGS__) \
                                  : prefix(Scatter, scatter, suffix)(row, count, row_type, own, own_count, own_type, root, comm, ##__VA_ARGS__)))
#define BLOCKING(Name, name, suffix) MPI_##Name##suffix
#define NONBLOCKING(Name, name, suffix) MPI_I##name##suffix
#define CALLS(function, suffix, Count, Place, its_counts, its_places)                       \
  static int function(const Call* call, MPI_Comm comm) {                                    \
    SIDES(Count, Place, its_counts, its_places)                                             \
    if (call->form == kBlocking) return ALL_FOUR(BLOCKING, suffix);                         \
    if (call->form == kNonblocking) {                                                       \
      MPI_OK(ALL_FOUR(NONBLOCKING, suffix, &request));                                      \
      return finish(&request, 0);                                                           \
    }                                                                                       \
    PERSISTENT(suffix)                                                                      \
    return finish(&request, 1);                                                             \
  }
#if MPI_VERSION >= 4
#define INIT(Name, name, suffix) INIT_OF(Name, suffix)
#define INIT_OF(Name, suffix) INIT_##suffix(Name)
#define INIT_(Name) MPI_##Name##_init
#define INIT_v(Name) MPI_##Name##v_init
#define INIT__c(Name) MPI_##Name##_init_c
#define INIT_v_c(Name) MPI_##Name##v_init_c
#define PERSISTENT(suffix) MPI_OK(ALL_FOUR(INIT, suffix, MPI_INFO_NULL, &request));
#else
#define PERSISTENT(suffix)
#endif
CALLS(do_calls, , int, int, call->counts, call->places)
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
CALLS(do_calls_c, _c, MPI_Count, MPI_Aint, call->large_counts, call->large_places)
#else
#define do_calls_c do_calls
#endif

static int do_call(Call* call, MPI_Comm comm, Random* own) {
  Area* const sides[2] = {&call->own_area, &call->row_area};
  Area host[2] = {{0}, {0}};
  if (call->form == kBlocking) move_some(sides, host, own);
  const int code = call->large ? do_calls_c(call, comm) : do_calls(call, comm);
  move_back(sides, host);
  return code;
}

/* MPICH passes blocks on as bytes, in MPI_Gather and MPI_Scatter among more than two ranks. Over UCX, bytes are unpacked part by part, and where a
 * part ends within an element MPICH finds the message truncated or of another signature. Here that happens in blocks of more than 8 KiB. */
#ifdef MPICH_NUMVERSION
enum { kUnpacksWholeElements = 1 };
#else
enum { kUnpacksWholeElements = 0 };
#endif

/* All ranks choose alike. */
static int choose(Call* call, int* elements, int ranks, Random* common) {
  static const int counts[] = {0, 1, 1, 2, 3, 5, 7, 14, 15, 64, 100, 500, 1000, 2500};
  int unit;
  memset(call, 0, sizeof *call);
  call->gathers = random_below(common, 2);
  call->counted = random_below(common, 2);
  call->in_place = random_below(common, 4) == 0;
  call->form = random_below(common, 2) ? kBlocking : (Form)random_below(common, kHasPersistent ? kForms : kPersistent);
  call->large = kLargeCounts && random_below(common, 4) == 0;
  call->root = random_below(common, ranks);
  *elements = counts[random_below(common, 14)];
  if (call->counted) *elements = 1 + *elements % 500;
  for (int rank = 0; rank < ranks; ++rank) {
    call->parts[rank] = call->counted ? random_below(common, kMostParts + 1) : 1;
    call->slots[rank] = rank;
  }
  for (int rank = 0; call->counted && rank < ranks; ++rank) {
    const int other = random_below(common, ranks), slot = call->slots[rank];
    call->slots[rank] = call->slots[other];
    call->slots[other] = slot;
  }
  do unit = random_below(common, kUnits);
  while (has_long_double(unit) || (kUnpacksWholeElements && has_gaps(unit)));
  return unit;
}

/* An empty block has no elements. MPICH sends no message for these, but waits for one of elements that have no bytes. */
static Layout layout_of(Random* own, int unit, int elements, int may_overlap) {
  return elements == 0 ? (Layout){MPI_BYTE, 0, 1, "nothing"} : random_layout(own, unit, elements, may_overlap);
}

static void make_sides(Call* call, int unit, int elements, Random* own) {
  const int part_of_row = call->counted ? kMostParts : 1;
  call->row = layout_of(own, unit, elements, !call->gathers);
  for (int rank = 0; rank < call->ranks; ++rank) {
    call->counts[rank] = call->row.count * call->parts[rank];
    call->places[rank] = call->row.count * call->slots[rank] * part_of_row;
#if MPI_VERSION >= 4
    call->large_counts[rank] = call->counts[rank];
    call->large_places[rank] = call->places[rank];
#endif
  }
  if (is_root(call)) call->row_area = make_area(&call->row, call->ranks * part_of_row, own);
  if (!has_own(call)) return;
  call->own = layout_of(own, unit, elements * call->parts[call->rank], 0);  /* Open MPI receives others' blocks by it. */
  call->own_area = make_area(&call->own, 1, own);
}

static void check_area(const Call* call, const char* what, const Area* found, const Area* expected, int index) {
  if (memcmp(found->start, expected->start, found->bytes) == 0) return;
  size_t first = 0;
  while (found->start[first] == expected->start[first]) ++first;
  CHECK(0, "call %d: %s%s of %s, root %d%s, form %d%s: %s: wrong from byte %ld", index, call->gathers ? "gather" : "scatter", call->counted ? "v" : "",
        call->row.text, call->root, call->in_place ? ", in place" : "", (int)call->form, call->large ? ", large counts" : "", what,
        (long)(found->start + first - found->base));
}

static void one_call(int index, MPI_Comm comm, Random* common, Random* own, int ranks) {
  Call call;
  int elements;
  const int unit = choose(&call, &elements, ranks, common);
  if (comm == MPI_COMM_NULL) return;
  call.rank = rank_in(comm), call.ranks = ranks;
  make_sides(&call, unit, elements, own);
  Area *const received = call.gathers ? &call.row_area : &call.own_area, *const given = call.gathers ? &call.own_area : &call.row_area;
  const Area sent = copy_area(given);
  call.expected = copy_area(received);
  if (call.gathers) define_gather(&call, comm);
  else define_scatter(&call, comm);
  MPI_OK(do_call(&call, comm, own));
  check_area(&call, "received", received, &call.expected, index);
  check_area(&call, "sent", given, &sent, index);
  Area* const areas[] = {&call.own_area, &call.row_area, &call.expected};
  for (int i = 0; i < 3; ++i) free(areas[i]->start);
  free(sent.start);
  if (has_own(&call)) free_layout(&call.own);
  free_layout(&call.row);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  const int calls = argc > 2 ? atoi(argv[2]) : 100;
  load_driver();
  Comms comms = make_comms(seed);
  Random common = random_from(seed), own = random_from(seed * 1000 + 7 + (unsigned)rank_in(MPI_COMM_WORLD));
  int sizes[kMostComms];
  for (int i = 0; i < comms.count; ++i) sizes[i] = comms.comm[i] == MPI_COMM_NULL || comms.inter[i] ? 1 : size_of_comm(comms.comm[i]);
  MPI_OK(PMPI_Allreduce(MPI_IN_PLACE, sizes, comms.count, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  for (int i = 0; i < calls; ++i) {
    const int which = random_below(&common, comms.count);
    const MPI_Comm comm = comms.inter[which] ? MPI_COMM_NULL : comms.comm[which];
    /* Where communicators of one name differ in size, each is a world of its own. */
    const int ranks = comm == MPI_COMM_NULL ? sizes[which] : size_of_comm(comm);
    Random its = common;
    one_call(i, comm, &its, &own, ranks);
    (void)random_word(&common);
  }
  free_comms(&comms);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
