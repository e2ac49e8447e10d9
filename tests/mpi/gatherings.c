/* The program makes random calls of MPI_Allgather and MPI_Reduce_scatter_block, of their nonblocking and persistent forms and with large counts. Each
 * rank has layouts of its own. The calls use every operation of MPI's on every type for which the standard defines it, in place or not, on several
 * communicators. Results are compared byte by byte with the definition, gaps and guards included.
 *
 *   gatherings SEED CALLS
 *
 * PRETEND_DRIVER is as in guarded_areas.h. */
#include "check.h"

#include "guarded_areas.h"
#include "random_comms.h"
#include "reduction_types.h"

enum { kMostElements = 20000 };

typedef enum { kBlocking, kNonblocking, kPersistent, kForms } Form;

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
enum { kLargeCounts = 1 };
#else
enum { kLargeCounts = 0 };
#endif

/* This is a call as all ranks know it, and this rank's sides. */
typedef struct {
  int gathers, in_place, large;
  Form form;
  Layout send, recv; /* They are the layouts of a block. */
  const TypeRow* row; /* It is set for a reduction. */
  int op, ranks, rank;
  Area from, to, expected;
} Call;

/* Returns the bytes of all ranks' blocks, in their order. The caller frees the memory. */
static unsigned char* all_blocks(const void* mine, int bytes, int ranks, MPI_Comm comm) {
  unsigned char* all = malloc((size_t)bytes * (size_t)ranks + 1);
  memcpy(all + (size_t)bytes * (size_t)rank_in(comm), mine, (size_t)bytes);
  for (int rank = 0; rank < ranks; ++rank) MPI_OK(PMPI_Bcast(all + (size_t)bytes * (size_t)rank, bytes, MPI_BYTE, rank, comm));
  return all;
}

static void define_gather(Call* call, MPI_Comm comm) {
  const Layout* out = call->in_place ? &call->recv : &call->send;
  const unsigned char* base = call->in_place ? call->to.base + extent_of(&call->recv) * call->rank : call->from.base;
  int size = 0, packed = 0;
  MPI_Type_size(out->type, &size);
  const int bytes = size * out->count;
  unsigned char* mine = malloc((size_t)bytes + 1);
  MPI_OK(PMPI_Pack(base, out->count, out->type, mine, bytes, &packed, MPI_COMM_SELF));
  CHECK(packed == bytes, "packed %d bytes, not %d", packed, bytes);
  unsigned char* all = all_blocks(mine, bytes, call->ranks, comm);
  for (int from = 0; from < call->ranks; ++from) {
    int position = 0;
    unsigned char* to = call->expected.base + extent_of(&call->recv) * from;
    MPI_OK(PMPI_Unpack(all + (size_t)bytes * (size_t)from, bytes, &position, to, call->recv.count, call->recv.type, MPI_COMM_SELF));
  }
  free(mine);
  free(all);
}

static void define_scatter(Call* call, MPI_Comm comm) {
  const size_t element = (size_t)extent_of(&call->recv) / (size_t)(call->recv.count > 0 ? call->recv.count : 1);
  const int bytes = (int)extent_of(&call->recv), row = bytes * call->ranks;
  unsigned char* all = all_blocks(call->in_place ? call->to.base : call->from.base, row, call->ranks, comm);
  unsigned char* last = all + (size_t)row * (size_t)(call->ranks - 1) + (size_t)bytes * (size_t)call->rank;
  for (int from = call->ranks - 2; from >= 0; --from) {
    const unsigned char* its = all + (size_t)row * (size_t)from + (size_t)bytes * (size_t)call->rank;
    for (int i = 0; i < call->recv.count; ++i) combine_element(call->row, call->op, its + element * (size_t)i, last + element * (size_t)i);
  }
  memcpy(call->expected.base, last, (size_t)bytes);
  free(all);
}

/* These are the six functions, or their large-count twins. */
#define CALLS(suffix, Count)                                                                                                         \
  static int do_calls##suffix(const Call* call, MPI_Comm comm, const void* from) {                                                   \
    const Layout *out = &call->send, *in = &call->recv;                                                                              \
    const Count sent = out->count, received = in->count;                                                                             \
    MPI_Request request = MPI_REQUEST_NULL;                                                                                          \
    MPI_Op op = op_of(call->op);                                                                                                     \
    if (call->form == kBlocking) {                                                                                                   \
      return call->gathers ? MPI_Allgather##suffix(from, sent, out->type, call->to.base, received, in->type, comm)                   \
                           : MPI_Reduce_scatter_block##suffix(from, call->to.base, received, in->type, op, comm);                    \
    }                                                                                                                                \
    if (call->form == kNonblocking) {                                                                                                \
      if (call->gathers) MPI_OK(MPI_Iallgather##suffix(from, sent, out->type, call->to.base, received, in->type, comm, &request));   \
      else MPI_OK(MPI_Ireduce_scatter_block##suffix(from, call->to.base, received, in->type, op, comm, &request));                   \
      return finish(&request, 0);                                                                                                    \
    }                                                                                                                                \
    PERSISTENT(suffix)                                                                                                               \
    return finish(&request, 1);                                                                                                      \
  }
#if MPI_VERSION >= 4
#define PERSISTENT(suffix)                                                                                                                     \
  if (call->gathers) MPI_OK(MPI_Allgather_init##suffix(from, sent, out->type, call->to.base, received, in->type, comm, MPI_INFO_NULL, &request)); \
  else MPI_OK(MPI_Reduce_scatter_block_init##suffix(from, call->to.base, received, in->type, op, comm, MPI_INFO_NULL, &request));
#else
#define PERSISTENT(suffix)
#endif
CALLS(, int)
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
CALLS(_c, MPI_Count)
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

static void compare(const Call* call, int index, const char* comm_name) {
  const size_t element = (size_t)extent_of(&call->recv) / (size_t)(call->recv.count > 0 ? call->recv.count : 1);
  for (int i = 0; i < call->recv.count && !call->gathers; ++i) {
    forget_padding(call->row, call->to.base + element * (size_t)i);
    forget_padding(call->row, call->expected.base + element * (size_t)i);
  }
  if (memcmp(call->to.start, call->expected.start, call->to.bytes) == 0) return;
  size_t first = 0;
  while (call->to.start[first] == call->expected.start[first]) ++first;
  CHECK(0, "call %d on '%s': %s of %d %s%s, form %d: wrong from byte %ld", index, comm_name, call->gathers ? "allgather" : op_names[call->op],
        call->recv.count, call->gathers ? call->recv.text : call->row->name, call->in_place ? ", in place" : "", (int)call->form,
        (long)(call->to.start + first - call->to.base));
}

/* All ranks choose alike. */
static void choose(Call* call, int* unit, int* elements, Random* common) {
  static const int counts[] = {0, 1, 1, 2, 3, 5, 7, 14, 15, 64, 100, 500, 1000, 5000, kMostElements};
  memset(call, 0, sizeof *call);
  call->gathers = random_below(common, 2);
  call->in_place = random_below(common, 4) == 0;
  call->form = random_below(common, 2) ? kBlocking : (Form)random_below(common, MPI_VERSION >= 4 ? kForms : kPersistent);
  call->large = kLargeCounts && random_below(common, 4) == 0;
  *elements = counts[random_below(common, 15)];
  do *unit = random_below(common, kUnits);
  while (has_long_double(*unit));
  do {
    call->row = &type_rows[random_below(common, type_row_count)];
    call->op = random_below(common, kOps);
  } while (!defined_for(call->row, call->op) || !call->row->there);
}

static void one_call(int index, MPI_Comm comm, const char* comm_name, Random* common, Random* own, int skip) {
  Call call;
  int unit, elements;
  choose(&call, &unit, &elements, common);
  if (skip) return;
  call.rank = rank_in(comm), call.ranks = size_of_comm(comm);
  if (call.gathers) {
    call.send = random_layout(own, unit, elements % 2600, 1);
    call.recv = random_layout(own, unit, elements % 2600, 0);
    call.to = make_area(&call.recv, call.ranks, own);
    if (!call.in_place) call.from = make_area(&call.send, 1, own);
  } else {
    call.send = call.recv = (Layout){call.row->type(), elements, 1, ""};
    call.to = make_area(&call.recv, call.in_place ? call.ranks : 1, own);
    if (!call.in_place) call.from = make_area(&call.send, call.ranks, own);
    /* The gaps of pairs need not travel. */
    memset(call.to.start, 0xA5, call.to.bytes);
    if (!call.in_place) memset(call.from.start, 0xA5, call.from.bytes);
    const size_t element = (size_t)extent_of(&call.recv) / (size_t)(elements > 0 ? elements : 1);
    unsigned char* mine = call.in_place ? call.to.base : call.from.base;
    for (int i = 0; i < elements * call.ranks; ++i) fill_element(call.row, mine + element * (size_t)i, own, call.row->tame[call.op] ? kTame : kAll);
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
