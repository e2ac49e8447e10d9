/* The program makes random calls of MPI_Allgatherv and MPI_Reduce_scatter, of their nonblocking and persistent forms and with large counts. Counts
 * have all sizes, and many are zero. Each rank has layouts, displacements and gaps of its own. The calls use every operation of MPI's on every type
 * for which the standard defines it, in place or not, on several communicators. Results are compared byte by byte with the definition, gaps and
 * guards included.
 *
 *   unequal_gatherings SEED CALLS
 *
 * PRETEND_DRIVER is as in guarded_areas.h. */
#include "check.h"

#include "guarded_areas.h"
#include "random_comms.h"
#include "reduction_types.h"

enum { kMostRanks = 64 };

typedef enum { kBlocking, kNonblocking, kPersistent, kForms } Form;

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
enum { kLargeCounts = 1 };
#else
enum { kLargeCounts = 0 };
#endif

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000
enum { kMpich4 = 1 };
#else
enum { kMpich4 = 0 };
#endif

/* This is a call as all ranks know it, and this rank's sides. */
typedef struct {
  int gathers, in_place, large;
  Form form;
  Layout send, recv;   /* The numbers below count these layouts. */
  const TypeRow* row;  /* It is set for a reduction. */
  int op, ranks, rank;
  int length[kMostRanks], place[kMostRanks]; /* They are of every block, in layouts: its length and where it is received. */
  int all, end;        /* These are the sum of the lengths and one past the last place. */
  Area from, to, expected;
} Call;

static size_t bytes_of(const Layout* layout) {
  int size = 0;
  MPI_Type_size(layout->type, &size);
  return (size_t)size * (size_t)layout->count;
}

/* Returns the rows of all ranks, one after the other. The caller frees the memory. */
static unsigned char* all_rows(const void* mine, size_t bytes, int ranks, MPI_Comm comm) {
  unsigned char* all = malloc(bytes * (size_t)ranks + 1);
  MPI_OK(PMPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, comm));
  MPI_OK(PMPI_Bcast(all, (int)bytes * ranks, MPI_BYTE, 0, comm));
  return all;
}

static void define_gather(Call* call, MPI_Comm comm) {
  const Layout* out = call->in_place ? &call->recv : &call->send;
  const unsigned char* base = call->in_place ? call->to.base + extent_of(&call->recv) * call->place[call->rank] : call->from.base;
  int longest = 0, packed = 0;
  for (int i = 0; i < call->ranks; ++i) longest = call->length[i] > longest ? call->length[i] : longest;
  const size_t row = bytes_of(out) * (size_t)longest;
  unsigned char* mine = calloc(row + 1, 1);
  MPI_OK(PMPI_Pack(base, out->count * call->length[call->rank], out->type, mine, (int)row, &packed, MPI_COMM_SELF));
  unsigned char* all = all_rows(mine, row, call->ranks, comm);
  for (int from = 0; from < call->ranks; ++from) {
    int position = 0;
    unsigned char* to = call->expected.base + extent_of(&call->recv) * call->place[from];
    MPI_OK(PMPI_Unpack(all + row * (size_t)from, (int)row, &position, to, call->recv.count * call->length[from], call->recv.type, MPI_COMM_SELF));
  }
  free(mine);
  free(all);
}

static void define_scatter(Call* call, MPI_Comm comm) {
  const size_t element = (size_t)extent_of(&call->recv), row = element * (size_t)call->all, first = element * (size_t)call->place[call->rank];
  const int count = call->length[call->rank];
  unsigned char* all = all_rows(call->in_place ? call->to.base : call->from.base, row, call->ranks, comm);
  unsigned char* last = all + row * (size_t)(call->ranks - 1) + first;
  for (int from = call->ranks - 2; from >= 0; --from) {
    const unsigned char* its = all + row * (size_t)from + first;
    for (int i = 0; i < count; ++i) combine_element(call->row, call->op, its + element * (size_t)i, last + element * (size_t)i);
  }
  memcpy(call->expected.base, last, element * (size_t)count);
  free(all);
}

/* These are the functions, or their large-count twins. */
#define CALLS(suffix, Count, Place)                                                                                                     \
  static int do_calls##suffix(const Call* call, MPI_Comm comm, const void* from) {                                                      \
    const Layout *out = &call->send, *in = &call->recv;                                                                                 \
    Count counts[kMostRanks];                                                                                                           \
    Place places[kMostRanks];                                                                                                           \
    for (int i = 0; i < call->ranks; ++i) counts[i] = (Count)call->length[i] * in->count, places[i] = (Place)call->place[i] * in->count; \
    const Count sent = (Count)call->length[call->rank] * out->count;                                                                    \
    MPI_Request request = MPI_REQUEST_NULL;                                                                                             \
    MPI_Op op = op_of(call->op);                                                                                                        \
    if (call->form == kBlocking) {                                                                                                      \
      return call->gathers ? MPI_Allgatherv##suffix(from, sent, out->type, call->to.base, counts, places, in->type, comm)               \
                           : MPI_Reduce_scatter##suffix(from, call->to.base, counts, in->type, op, comm);                               \
    }                                                                                                                                   \
    if (call->form == kNonblocking) {                                                                                                   \
      if (call->gathers) MPI_OK(MPI_Iallgatherv##suffix(from, sent, out->type, call->to.base, counts, places, in->type, comm, &request)); \
      else MPI_OK(MPI_Ireduce_scatter##suffix(from, call->to.base, counts, in->type, op, comm, &request));                              \
      return finish(&request, 0);                                                                                                       \
    }                                                                                                                                   \
    PERSISTENT(suffix)                                                                                                                  \
    return finish(&request, 1);                                                                                                         \
  }
#if MPI_VERSION >= 4
#define PERSISTENT(suffix)                                                                                                                             \
  if (call->gathers) MPI_OK(MPI_Allgatherv_init##suffix(from, sent, out->type, call->to.base, counts, places, in->type, comm, MPI_INFO_NULL, &request)); \
  else MPI_OK(MPI_Reduce_scatter_init##suffix(from, call->to.base, counts, in->type, op, comm, MPI_INFO_NULL, &request));
#else
#define PERSISTENT(suffix)
#endif
CALLS(, int, int)
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
CALLS(_c, MPI_Count, MPI_Aint)
#else
#define do_calls_c do_calls
#endif

static int do_call(Call* call, MPI_Comm comm, Random* own) {
  Area* const sides[2] = {&call->from, &call->to};
  Area host[2] = {{0}, {0}};
  if (call->form == kBlocking) move_some(sides, host, own);
  const void* from = call->in_place ? MPI_IN_PLACE : call->from.base;
  const int code = call->large ? do_calls_c(call, comm, from) : do_calls(call, comm, from);
  move_back(sides, host);
  return code;
}

/* What lies between the parts of pairs need not travel. */
static void forget_gaps(const Call* call, unsigned char* base, int elements) {
  for (int i = 0; i < elements && !call->gathers; ++i) forget_padding(call->row, base + extent_of(&call->recv) * i);
}

static void compare(const Call* call, int index, const char* comm_name) {
  const int elements = call->in_place ? call->all : call->length[call->rank];
  forget_gaps(call, call->to.base, elements);
  forget_gaps(call, call->expected.base, elements);
  if (memcmp(call->to.start, call->expected.start, call->to.bytes) == 0) return;
  size_t first = 0;
  while (call->to.start[first] == call->expected.start[first]) ++first;
  CHECK(0, "call %d on '%s': %s of %d of %s%s, form %d: wrong from byte %ld", index, comm_name, call->gathers ? "allgatherv" : op_names[call->op],
        call->all, call->gathers ? call->recv.text : call->row->name, call->in_place ? ", in place" : "", (int)call->form,
        (long)(call->to.start + first - call->to.base));
}

/* Lengths of blocks are alike on all ranks: equal, differing by orders of magnitude, or mostly zero. */
static void choose_lengths(Call* call, int most, Random* common) {
  static const int some[] = {0, 1, 2, 3, 7, 14, 15, 64, 200, 1000, 5000, 20000};
  const int kind = random_below(common, 4), equal = some[random_below(common, 10)], only = random_below(common, kMostRanks);
  for (int i = 0; i < kMostRanks; ++i) {
    const int drawn = some[random_below(common, 12)];
    const int length = kind == 0 ? equal : kind == 1 ? drawn : kind == 2 ? (random_below(common, 3) == 0 ? drawn : 0) : (i == only % 3 ? drawn : 0);
    call->length[i] = length < most ? length : most;
  }
}

static void choose(Call* call, int* unit, int* elements, Random* common) {
  memset(call, 0, sizeof *call);
  call->gathers = random_below(common, 2);
  call->in_place = random_below(common, 4) == 0;
  call->form = random_below(common, 2) ? kBlocking : (Form)random_below(common, MPI_VERSION >= 4 ? kForms : kPersistent);
  if (kMpich4 && call->gathers && call->in_place && call->form == kPersistent) call->form = kNonblocking; /* MPICH 4.0 itself puts them elsewhere. */
  call->large = kLargeCounts && random_below(common, 4) == 0;
  *elements = 1 + random_below(common, 8);
  choose_lengths(call, call->gathers ? 1000 : 20000, common);
  do *unit = random_below(common, kUnits);
  while (has_long_double(*unit));
  do {
    call->row = &type_rows[random_below(common, type_row_count)];
    call->op = random_below(common, kOps);
  } while (!defined_for(call->row, call->op) || !call->row->there);
}

/* Blocks are received in an order and with gaps of this rank's own. Those of a reduction lie side by side. */
static void place_blocks(Call* call, Random* own) {
  /* MPICH 4.0 ignores the displacement in a communicator of one rank. */
  const int ignored = kMpich4 && call->ranks == 1;
  const int shift = call->gathers ? random_below(own, call->ranks) : 0, gaps = call->gathers && random_below(own, 2) && !ignored;
  call->all = call->end = 0;
  for (int i = 0; i < call->ranks; ++i) {
    const int block = (i + shift) % call->ranks;
    call->end += gaps ? random_below(own, 4) : 0;
    call->place[block] = call->end;
    call->end += call->length[block];
    call->all += call->length[block];
  }
}

/* Open MPI's native MPI_Allgatherv chooses by the size of this rank's own datatype, and hangs where ranks choose differently. There the types of all
 * ranks have one size. */
static Layout layout_of(Random* own, int unit, int elements, int sends) {
  Layout layout = random_layout(own, unit, elements, sends);
#ifdef OPEN_MPI
  Layout whole = layout;
  MPI_OK(MPI_Type_contiguous(layout.count, layout.type, &whole.type));
  MPI_OK(MPI_Type_commit(&whole.type));
  free_layout(&layout);
  whole.count = 1;
  whole.predefined = 0;
  return whole;
#else
  return layout;
#endif
}

static void one_call(int index, MPI_Comm comm, const char* comm_name, Random* common, Random* own, int skip) {
  Call call;
  int unit, elements;
  choose(&call, &unit, &elements, common);
  if (skip) return;
  call.rank = rank_in(comm), call.ranks = size_of_comm(comm);
  place_blocks(&call, own);
  const int mine = call.length[call.rank];
  if (call.gathers) {
    call.send = layout_of(own, unit, elements, 1);
    call.recv = layout_of(own, unit, elements, 0);
    call.to = make_area(&call.recv, call.end, own);
    if (!call.in_place) call.from = make_area(&call.send, mine, own);
  } else {
    call.send = call.recv = (Layout){call.row->type(), 1, 1, ""};
    call.to = make_area(&call.recv, call.in_place ? call.all : mine, own);
    if (!call.in_place) call.from = make_area(&call.send, call.all, own);
    memset(call.to.start, 0xA5, call.to.bytes);
    if (!call.in_place) memset(call.from.start, 0xA5, call.from.bytes);
    unsigned char* operands = call.in_place ? call.to.base : call.from.base;
    for (int i = 0; i < call.all; ++i) fill_element(call.row, operands + extent_of(&call.recv) * i, own, call.row->tame[call.op] ? kTame : kAll);
  }
  call.expected = copy_area(&call.to);
  Area sent = {0};
  if (!call.in_place) sent = copy_area(&call.from);
  if (call.gathers) define_gather(&call, comm);
  else define_scatter(&call, comm);
  MPI_OK(do_call(&call, comm, own));
  compare(&call, index, comm_name);
  CHECK(call.in_place || memcmp(sent.start, call.from.start, sent.bytes) == 0, "call %d has changed what it sent", index);
  Area* const areas[] = {&call.from, &call.to, &call.expected, &sent};
  for (int i = 0; i < 4; ++i) free(areas[i]->start);
  if (call.gathers) free_layout(&call.send), free_layout(&call.recv);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  const int calls = argc > 2 ? atoi(argv[2]) : 100;
  load_driver();
  look_at_types(rank_in(MPI_COMM_WORLD) == 0);
  Comms comms = make_comms(seed);
  Random common = random_from(seed), own = random_from(seed * 1000 + 7 + (unsigned)rank_in(MPI_COMM_WORLD));
  for (int i = 0; i < calls; ++i) {
    const int which = random_below(&common, comms.count);
    one_call(i, comms.comm[which], comms.name[which], &common, &own, comms.comm[which] == MPI_COMM_NULL || comms.inter[which]);
  }
  free_comms(&comms);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
