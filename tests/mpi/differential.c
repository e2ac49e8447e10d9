/* The program makes random MPI_Alltoall calls. Each is compared byte by byte with the standard's definition, one send and one receive between every
 * two ranks. The comparison includes buffers, gaps and the guards around them.
 *
 *   differential SEED CALLS [verbose] */
#include "check.h"
#include "random_comms.h"
#include "random_numbers.h"
#include "random_types.h"

enum { kGuardBytes = 256 };

/* This is memory of a layout with guards around it. */
typedef struct {
  unsigned char* start;
  size_t bytes;
  unsigned char* base; /* MPI is given this address. */
} Area;

static Area make_area(const Layout* layout, int blocks) {
  MPI_Aint lowest, end;
  reach(layout, blocks, &lowest, &end);
  if (lowest > 0) lowest = 0;
  if (end < 0) end = 0;
  Area area = {.bytes = (size_t)(end - lowest) + 2 * kGuardBytes};
  area.start = malloc(area.bytes);
  area.base = area.start + kGuardBytes + ((15 - lowest) & ~(MPI_Aint)15);
  while (area.base + end > area.start + area.bytes) area.base -= 16;
  return area;
}

static void fill_area(Area* area, Random* random) {
  for (size_t i = 0; i < area->bytes; ++i) area->start[i] = (unsigned char)(random_word(random) >> 40);
}

/* The padding of a long double may travel or not, even within one MPI. All long doubles lie at multiples of 16 bytes from the base here. */
static void forget_padding(Area* area) {
  for (size_t i = 0; i < area->bytes; ++i) {
    if (((area->start + i - area->base) & 15) >= 10) area->start[i] = 0;
  }
}

static Area copy_area(const Area* area) {
  Area copy = *area;
  copy.start = malloc(area->bytes);
  copy.base = copy.start + (area->base - area->start);
  memcpy(copy.start, area->start, area->bytes);
  return copy;
}

/* One random call has what all ranks must agree on, and this rank's own choices. */
typedef struct {
  int unit, elements, in_place, absolute;
  Layout send, recv;
  Area from, to, expected;
  int blocks; /* This rank exchanges with so many ranks. */
} Call;

static void shared_choices(Call* call, Random* common, int inter) {
  static const int elements[] = {0, 1, 1, 2, 3, 4, 6, 8, 12, 12, 24, 60, 120, 240, 720, 2520};
  call->unit = random_below(common, kUnits);
  call->elements = elements[random_below(common, 16)];
  if (random_below(common, 25) == 0) call->elements = 12 * 1024; /* A block has up to 400 KB. */
  call->in_place = !inter && random_below(common, 4) == 0;
}

static void own_choices(Call* call, Random* own) {
  call->send = random_layout(own, call->unit, call->elements, 1);
  call->recv = random_layout(own, call->unit, call->elements, 0);
  call->from = make_area(&call->send, call->blocks);
  call->to = make_area(&call->recv, call->blocks);
  fill_area(&call->from, own);
  fill_area(&call->to, own);
  call->expected = copy_area(&call->to);
  call->absolute = random_below(own, 10) == 0;
}

/* Computes the definition by messages on a communicator of its own. */
static void define(Call* call, MPI_Comm comm) {
  const Layout* send = call->in_place ? &call->recv : &call->send;
  const unsigned char* from = call->in_place ? call->to.base : call->from.base;
  MPI_Aint lower, send_extent, recv_extent;
  MPI_Type_get_extent(send->type, &lower, &send_extent);
  MPI_Type_get_extent(call->recv.type, &lower, &recv_extent);
  MPI_Request* requests = malloc(2 * sizeof *requests * (size_t)call->blocks);
  for (int i = 0; i < call->blocks; ++i) {
    MPI_OK(PMPI_Irecv(call->expected.base + i * recv_extent * call->recv.count, call->recv.count, call->recv.type, i, 5,
                      comm, &requests[2 * i]));
    MPI_OK(PMPI_Isend(from + i * send_extent * send->count, send->count, send->type, i, 5, comm, &requests[2 * i + 1]));
  }
  MPI_OK(PMPI_Waitall(2 * call->blocks, requests, MPI_STATUSES_IGNORE));
  free(requests);
}

/* Describes the same memory by absolute addresses: MPI_BOTTOM and one element of a type that knows them. */
static MPI_Datatype absolute_type(const Layout* layout, const unsigned char* base) {
  MPI_Aint address;
  MPI_Datatype made;
  MPI_Get_address(base, &address);
  MPI_Type_create_hindexed(1, &layout->count, &address, layout->type, &made);
  MPI_Type_commit(&made);
  return made;
}

static int do_call(const Call* call, MPI_Comm comm) {
  if (call->in_place) {
    return MPI_Alltoall(MPI_IN_PLACE, -5, MPI_DATATYPE_NULL, call->to.base, call->recv.count, call->recv.type, comm);
  }
  if (call->elements == 0) {
    return MPI_Alltoall(NULL, 0, call->send.type, NULL, 0, call->recv.type, comm);
  }
  if (!call->absolute) {
    return MPI_Alltoall(call->from.base, call->send.count, call->send.type, call->to.base, call->recv.count,
                        call->recv.type, comm);
  }
  MPI_Datatype sent = absolute_type(&call->send, call->from.base);
  MPI_Datatype received = absolute_type(&call->recv, call->to.base);
  const int code = MPI_Alltoall(MPI_BOTTOM, 1, sent, MPI_BOTTOM, 1, received, comm);
  MPI_Type_free(&sent);
  MPI_Type_free(&received);
  return code;
}

static void compare(Call* call, int number_of_call, const char* comm_name) {
  if (has_long_double(call->unit)) {
    forget_padding(&call->to);
    forget_padding(&call->expected);
  }
  if (memcmp(call->to.start, call->expected.start, call->to.bytes) == 0) return;
  size_t first = 0, wrong = 0;
  for (size_t i = call->to.bytes; i-- > 0;) {
    if (call->to.start[i] == call->expected.start[i]) continue;
    first = i;
    ++wrong;
  }
  CHECK(0, "call %d on '%s': %zu bytes wrong from %ld; %d ranks, %d elements%s%s; send %d of (%s), receive %d of (%s)",
        number_of_call, comm_name, wrong, (long)first - (long)(call->to.base - call->to.start), call->blocks,
        call->elements, call->in_place ? ", in place" : "", call->absolute ? ", absolute" : "", call->send.count,
        call->send.text, call->recv.count, call->recv.text);
}

static void one_call(int index, MPI_Comm comm, const char* name, Call* call, Random* own) {
  static int verbose = -1;
  if (verbose < 0) verbose = getenv("VERBOSE") != NULL;
  own_choices(call, own);
  if (verbose) {
    fprintf(stderr, "[%d] call %d on %s: %d elements%s, %d of (%s) to %d of (%s)\n", rank_in(MPI_COMM_WORLD), index, name,
            call->elements, call->in_place ? " in place" : "", call->send.count, call->send.text, call->recv.count,
            call->recv.text);
  }
  define(call, comm);
  const Area sent = copy_area(&call->from);
  MPI_OK(do_call(call, comm));
  compare(call, index, name);
  CHECK(memcmp(sent.start, call->from.start, sent.bytes) == 0, "call %d on '%s' wrote its send buffer", index, name);
  free(sent.start);
  free(call->from.start);
  free(call->to.start);
  free(call->expected.start);
  free_layout(&call->send);
  free_layout(&call->recv);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  const int calls = argc > 2 ? atoi(argv[2]) : 100;
  Comms comms = make_comms(seed);
  Random common = random_from(seed), own = random_from(seed * 1000 + 7 + (unsigned)rank_in(MPI_COMM_WORLD));
  for (int i = 0; i < calls; ++i) {
    Call call;
    memset(&call, 0, sizeof call);
    const int which = random_below(&common, comms.count);
    const MPI_Comm comm = comms.comm[which];
    shared_choices(&call, &common, comms.inter[which]);
    if (comm == MPI_COMM_NULL) continue;
    MPI_Comm_size(comm, &call.blocks);
    if (comms.inter[which]) MPI_Comm_remote_size(comm, &call.blocks);
    one_call(i, comm, comms.name[which], &call, &own);
  }
  free_comms(&comms);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
