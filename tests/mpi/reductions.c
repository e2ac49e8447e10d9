/* The program makes random calls of MPI_Allreduce, MPI_Iallreduce and MPI_Allreduce_init, with every operation of MPI's own on every type for which
 * the standard defines it, and operations of the program's on types of its own, in place or not, on several communicators. Results are compared byte
 * by byte with the definition over what all ranks have. Where rounding depends on the order, all ranks must have the same bits.
 *
 *   reductions SEED CALLS
 *
 * PRETEND_DRIVER is the path of a pretended device driver (pretend_driver.c). With it about half of the sides of blocking calls lie in its memory,
 * which only it can touch, on each rank as it likes. */
#include "check.h"

#include <dlfcn.h>

#include "random_comms.h"
#include "random_numbers.h"
#include "reduction_types.h"

enum { kGuardBytes = 64, kMostElements = 40000 };

/* The program's operation on a type of its own does not commute. It multiplies 2x2 matrices of unsigned numbers. */
typedef struct {
  unsigned at[4];
} Matrix;
static MPI_Datatype matrix_type;
static MPI_Op matrix_product;

static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const Matrix* a = in;
  Matrix* b = inout;
  for (int i = 0; i < *count; ++i) {
    const Matrix x = a[i], y = b[i];
    b[i] = (Matrix){{x.at[0] * y.at[0] + x.at[1] * y.at[2], x.at[0] * y.at[1] + x.at[1] * y.at[3],
                     x.at[2] * y.at[0] + x.at[3] * y.at[2], x.at[2] * y.at[1] + x.at[3] * y.at[3]}};
  }
}

typedef enum { kBlocking, kNonblocking, kPersistent, kForms } Form;

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
enum { kLargeCounts = 1 };
#else
enum { kLargeCounts = 0 };
#endif

/* This is what all ranks have in common of a call, and this rank's memory. */
typedef struct {
  const TypeRow* row;
  MPI_Datatype type;
  int op;
  int count, in_place, large; /* The functions that count in MPI_Count carry it if `large`. */
  Numbers numbers;
  Form form;
  size_t extent, bytes; /* They are of the elements, gaps included. */
  unsigned char *send, *recv, *expected;
} Call;

static void combine(const Call* call, const unsigned char* first, unsigned char* second) {
  for (int i = 0; i < call->count; ++i) {
    const size_t at = call->extent * (size_t)i;
    if (call->row == NULL) multiply((void*)(first + at), second + at, &(int){1}, NULL);
    else combine_element(call->row, call->op, first + at, second + at);
  }
}

/* Writes into call->expected, whose gaps are those of the receive buffer. */
static void define(Call* call, MPI_Comm comm, const unsigned char* mine) {
  const int ranks = size_of_comm(comm);
  unsigned char* all = malloc(call->bytes * (size_t)ranks + 1);
  memcpy(all + call->bytes * (size_t)rank_in(comm), mine, call->bytes);
  for (int rank = 0; rank < ranks; ++rank) MPI_OK(PMPI_Bcast(all + call->bytes * (size_t)rank, (int)call->bytes, MPI_BYTE, rank, comm));
  unsigned char* last = all + call->bytes * (size_t)(ranks - 1);
  for (int from = ranks - 2; from >= 0; --from) combine(call, all + call->bytes * (size_t)from, last);
  memcpy(call->expected + kGuardBytes, last, call->bytes);
  free(all);
}

static MPI_Op its_op(const Call* call) { return call->row == NULL ? matrix_product : op_of(call->op); }
static const char* name_of_op(const Call* call) { return call->row == NULL ? "product" : op_names[call->op]; }

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
static int do_large_call(const Call* call, MPI_Comm comm, const void* from) {
  void* to = call->recv + kGuardBytes;
  const MPI_Count count = call->count;
  MPI_Request request = MPI_REQUEST_NULL;
  if (call->form == kBlocking) return MPI_Allreduce_c(from, to, count, call->type, its_op(call), comm);
  if (call->form == kNonblocking) {
    MPI_OK(MPI_Iallreduce_c(from, to, count, call->type, its_op(call), comm, &request));
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_OK(MPI_Allreduce_init_c(from, to, count, call->type, its_op(call), comm, MPI_INFO_NULL, &request));
  MPI_OK(MPI_Start(&request));
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_OK(MPI_Request_free(&request));
  return code;
}
#else
static int do_large_call(const Call* call, MPI_Comm comm, const void* from) {
  (void)call, (void)comm, (void)from;
  return MPI_ERR_OTHER;
}
#endif

static int do_call(const Call* call, MPI_Comm comm, const void* from) {
  if (call->large) return do_large_call(call, comm, from);
  void* to = call->recv + kGuardBytes;
  MPI_Request request = MPI_REQUEST_NULL;
  if (call->form == kBlocking) return MPI_Allreduce(from, to, call->count, call->type, its_op(call), comm);
#if MPI_VERSION >= 4
  if (call->form == kPersistent) {
    MPI_OK(MPI_Allreduce_init(from, to, call->count, call->type, its_op(call), comm, MPI_INFO_NULL, &request));
    MPI_OK(MPI_Start(&request));
    const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_OK(MPI_Request_free(&request));
    return code;
  }
#endif
  MPI_OK(MPI_Iallreduce(from, to, call->count, call->type, its_op(call), comm, &request));
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void* (*device_alloc)(size_t);
static void (*device_free)(void*);
static void (*device_open)(int);

static void load_driver(void) {
  const char* path = getenv("PRETEND_DRIVER");
  void* driver = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) return;
  device_alloc = (void* (*)(size_t))dlsym(driver, "pretend_alloc");
  device_free = (void (*)(void*))dlsym(driver, "pretend_free");
  device_open = (void (*)(int))dlsym(driver, "pretend_open");
}

/* Moves a side to the driver's memory or back. Returns what it lay in until now. */
static unsigned char* move_to(unsigned char** side, unsigned char* to, size_t bytes) {
  unsigned char* const from = *side;
  device_open(1);
  memcpy(to, from, bytes);
  device_open(0);
  *side = to;
  return from;
}

/* Some sides are on the device. */
static int do_call_on_device(Call* call, MPI_Comm comm, Random* own) {
  unsigned char** const sides[2] = {&call->send, &call->recv};
  const size_t whole = call->bytes + 2 * kGuardBytes;
  unsigned char* host[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) {
    if (random_below(own, 2)) host[i] = move_to(sides[i], device_alloc(whole), whole);
  }
  const int code = do_call(call, comm, call->in_place ? MPI_IN_PLACE : call->send + kGuardBytes);
  for (int i = 0; i < 2; ++i) {
    if (host[i] != NULL) device_free(move_to(sides[i], host[i], whole));
  }
  return code;
}

/* Checks that all ranks have the same bits. */
static void compare_ranks(const Call* call, MPI_Comm comm) {
  unsigned char* first = malloc(call->bytes + 1);
  memcpy(first, call->recv + kGuardBytes, call->bytes);
  MPI_OK(PMPI_Bcast(first, (int)call->bytes, MPI_BYTE, 0, comm));
  CHECK(memcmp(first, call->recv + kGuardBytes, call->bytes) == 0, "%s of %d %s: ranks differ", name_of_op(call), call->count, call->row->name);
  free(first);
}

static void compare(const Call* call, int index, const char* comm_name) {
  for (int i = 0; i < call->count && call->row != NULL; ++i) {
    forget_padding(call->row, call->recv + kGuardBytes + call->extent * (size_t)i);
    forget_padding(call->row, call->expected + kGuardBytes + call->extent * (size_t)i);
  }
  const size_t whole = call->bytes + 2 * kGuardBytes;
  if (memcmp(call->recv, call->expected, whole) == 0) return;
  size_t first = 0;
  while (call->recv[first] == call->expected[first]) ++first;
  CHECK(0, "call %d on '%s': %s of %d %s%s, form %d: wrong from byte %ld", index, comm_name, name_of_op(call), call->count,
        call->row == NULL ? "matrices" : call->row->name, call->in_place ? ", in place" : "", (int)call->form, (long)first - kGuardBytes);
}

static void one_call(int index, MPI_Comm comm, const char* comm_name, Call* call, Random* own) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(call->type, &lower, &extent);
  call->extent = (size_t)extent;
  call->bytes = call->extent * (size_t)call->count;
  unsigned char** areas[] = {&call->send, &call->recv, &call->expected};
  for (int area = 0; area < 3; ++area) {
    *areas[area] = malloc(call->bytes + 2 * kGuardBytes);
    memset(*areas[area], 0xA5, call->bytes + 2 * kGuardBytes);
  }
  unsigned char* const mine = (call->in_place ? call->recv : call->send) + kGuardBytes;
  for (int i = 0; i < call->count; ++i) {
    unsigned char* const one = mine + call->extent * (size_t)i;
    if (call->row != NULL) fill_element(call->row, one, own, call->numbers);
    else for (int at = 0; at < 4; ++at) ((Matrix*)one)->at[at] = (unsigned)random_below(own, 1000);
  }
  define(call, comm, mine);
  const int on_device = device_alloc != NULL && call->row != NULL && call->form == kBlocking;
  if (on_device) MPI_OK(do_call_on_device(call, comm, own));
  else MPI_OK(do_call(call, comm, call->in_place ? MPI_IN_PLACE : mine));
  if (call->numbers == kRounding) compare_ranks(call, comm);
  else compare(call, index, comm_name);
  for (int area = 0; area < 3; ++area) free(*areas[area]);
}

static void choose(Call* call, Random* common) {
  static const int counts[] = {0, 1, 1, 2, 3, 5, 7, 14, 15, 64, 100, 500, 1000, 5000, 10000, kMostElements};
  memset(call, 0, sizeof *call);
  call->count = counts[random_below(common, 16)];
  call->form = random_below(common, 2) ? kBlocking : (Form)random_below(common, kForms);
  call->large = kLargeCounts && random_below(common, 4) == 0;
  if (random_below(common, 20) == 0) {
    call->type = matrix_type;
    return;
  }
  do {
    call->row = &type_rows[random_below(common, type_row_count)];
    call->op = random_below(common, kOps);
  } while (!defined_for(call->row, call->op) || !call->row->there);
  call->type = call->row->type();
  if (call->row->tame[call->op]) call->numbers = kTame;
  const int rounds = call->row->kind == kReal && call->row->bytes <= 8;
  if (rounds && random_below(common, 3) == 0) call->numbers = kRounding;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  const int calls = argc > 2 ? atoi(argv[2]) : 100;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix_type);
  MPI_Type_commit(&matrix_type);
  MPI_Op_create(multiply, 0, &matrix_product);
  load_driver();
  look_at_types(rank_in(MPI_COMM_WORLD) == 0);
  Comms comms = make_comms(seed);
  Random common = random_from(seed), own = random_from(seed * 1000 + 7 + (unsigned)rank_in(MPI_COMM_WORLD));
  for (int i = 0; i < calls; ++i) {
    Call call;
    const int which = random_below(&common, comms.count), all_in_place = random_below(&common, 4) == 0;
    choose(&call, &common);
    const MPI_Comm comm = comms.comm[which];
    if (comm == MPI_COMM_NULL || comms.inter[which]) continue;
    call.in_place = all_in_place;
    one_call(i, comm, comms.name[which], &call, &own);
  }
  free_comms(&comms);
  MPI_Op_free(&matrix_product);
  MPI_Type_free(&matrix_type);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
