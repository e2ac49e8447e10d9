/* The program tests crossrail_op: reductions of floats of 8 and 16 bits under any MPI library, carried and native, of whole numbers that are exact in
 * them. It also asks for what makes no sense. */
#include "check.h"
#include <crossrail/crossrail.h>
#include <dlfcn.h>

enum { kCount = 1000, kMostRanks = 8 };

typedef struct {
  crossrail_format format;
  const char* name;
  MPI_Datatype type;
  int bytes, fraction, bias;
} Format;

static int (*get_op)(crossrail_format, MPI_Op, MPI_Op*);

/* Returns the bits of 0 to 16, by the exponent and the bits behind the first. */
static unsigned bits_of(int whole, const Format* format) {
  int exponent = 0;
  if (whole == 0) return 0;
  while (whole >> exponent > 1) ++exponent;
  return (unsigned)(exponent + format->bias) << format->fraction | (((unsigned)whole << format->fraction >> exponent) & ((1u << format->fraction) - 1));
}

static void put(void* row, int place, unsigned bits, const Format* format) {
  if (format->bytes == 1) ((unsigned char*)row)[place] = (unsigned char)bits;
  else ((unsigned short*)row)[place] = (unsigned short)bits;
}
static unsigned at(const void* row, int place, const Format* format) {
  return format->bytes == 1 ? ((const unsigned char*)row)[place] : ((const unsigned short*)row)[place];
}

/* Returns the operand of rank `rank`, which is 0 to 2. The sums of up to eight of them are exact in all formats, if even above 8. */
static int operand(int rank, int place) { return rank < 4 ? (rank + place) % 3 : 0; }

static int expected(int which, int place, int ranks) {
  int all = operand(0, place);
  for (int rank = 1; rank < ranks; ++rank) {
    const int next = operand(rank, place);
    if (which == 0) all += next;
    else if (which == 1) all *= next;
    else if (which == 2) all = next < all ? next : all;
    else all = next > all ? next : all;
  }
  return all;
}

static void check_row(const char* call, const void* row, int first, int count, int which, int ranks, const Format* format) {
  for (int place = 0; place < count; ++place) {
    const unsigned found = at(row, place, format), wanted = bits_of(expected(which, first + place, ranks), format);
    CHECK(found == wanted, "%s of %s: %x, not %x", call, format->name, found, wanted);
  }
}

static void try_format(const Format* format, int call) {
  const MPI_Op given[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  const int rank = rank_in(MPI_COMM_WORLD), ranks = size_of_comm(MPI_COMM_WORLD), which = call % 4, count = call % 3 == 0 ? 5 : kCount;
  unsigned short send[kCount * kMostRanks], recv[kCount * kMostRanks];
  MPI_Op op = MPI_OP_NULL, again = MPI_OP_NULL;
  CHECK(get_op(format->format, given[which], &op) == MPI_SUCCESS && op != MPI_OP_NULL, "no operation on %s", format->name);
  CHECK(get_op(format->format, given[which], &again) == MPI_SUCCESS && again == op, "another operation on %s", format->name);
  for (int place = 0; place < count * ranks; ++place) put(send, place, bits_of(operand(rank, place), format), format);
  memset(recv, 0xA5, sizeof recv);
  MPI_OK(MPI_Allreduce(send, recv, count, format->type, op, MPI_COMM_WORLD));
  check_row("MPI_Allreduce", recv, 0, count, which, ranks, format);
  memcpy(recv, send, sizeof recv);
  MPI_OK(MPI_Allreduce(MPI_IN_PLACE, recv, count, format->type, op, MPI_COMM_WORLD));
  check_row("MPI_Allreduce in place", recv, 0, count, which, ranks, format);
  memset(recv, 0xA5, sizeof recv);
  MPI_Request request;
  MPI_OK(MPI_Iallreduce(send, recv, count, format->type, op, MPI_COMM_WORLD, &request));
  MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_row("MPI_Iallreduce", recv, 0, count, which, ranks, format);
  memset(recv, 0xA5, sizeof recv);
  MPI_OK(MPI_Reduce_scatter_block(send, recv, count, format->type, op, MPI_COMM_WORLD));
  check_row("MPI_Reduce_scatter_block", recv, rank * count, count, which, ranks, format);
  /* crossrail never carries two floats an element, nor calls that it does not know. */
  MPI_Datatype two;
  MPI_OK(MPI_Type_contiguous(2, format->type, &two));
  MPI_OK(MPI_Type_commit(&two));
  memset(recv, 0xA5, sizeof recv);
  MPI_OK(MPI_Allreduce(send, recv, count / 2, two, op, MPI_COMM_WORLD));
  check_row("MPI_Allreduce of two", recv, 0, count / 2 * 2, which, ranks, format);
  MPI_OK(MPI_Type_free(&two));
  memset(recv, 0xA5, sizeof recv);
  MPI_OK(MPI_Reduce(send, recv, count, format->type, op, 0, MPI_COMM_WORLD));
  if (rank == 0) check_row("MPI_Reduce", recv, 0, count, which, ranks, format);
  memset(recv, 0xA5, sizeof recv);
  MPI_OK(MPI_Scan(send, recv, count, format->type, op, MPI_COMM_WORLD));
  check_row("MPI_Scan", recv, 0, count, which, rank + 1, format);
}

static void ask_wrongly(void) {
  MPI_Op op = MPI_OP_NULL;
  CHECK(get_op((crossrail_format)0, MPI_SUM, &op) != MPI_SUCCESS, "format 0");
  CHECK(get_op((crossrail_format)5, MPI_SUM, &op) != MPI_SUCCESS, "format 5");
  CHECK(get_op((crossrail_format)-1, MPI_SUM, &op) != MPI_SUCCESS, "format -1");
  CHECK(get_op(CROSSRAIL_BFLOAT16, MPI_LAND, &op) != MPI_SUCCESS, "MPI_LAND");
  CHECK(get_op(CROSSRAIL_BFLOAT16, MPI_OP_NULL, &op) != MPI_SUCCESS, "MPI_OP_NULL");
  CHECK(get_op(CROSSRAIL_BFLOAT16, MPI_SUM, NULL) != MPI_SUCCESS, "no place");
  CHECK(op == MPI_OP_NULL, "an operation from a wrong question");
}

int main(int argc, char** argv) {
  *(void**)&get_op = dlsym(RTLD_DEFAULT, "crossrail_op");
  MPI_Op op;
  if (get_op == NULL) return 1;
  if (get_op(CROSSRAIL_FLOAT16, MPI_SUM, &op) == MPI_SUCCESS) return 1; /* This is before MPI_Init. */
  MPI_Init(&argc, &argv);
  const Format formats[] = {{CROSSRAIL_FLOAT16, "float16", MPI_UINT16_T, 2, 10, 15},
                            {CROSSRAIL_BFLOAT16, "bfloat16", MPI_SHORT, 2, 7, 127},
                            {CROSSRAIL_FLOAT8_E4M3, "float8_e4m3", MPI_BYTE, 1, 3, 7},
                            {CROSSRAIL_FLOAT8_E5M2, "float8_e5m2", MPI_UINT8_T, 1, 2, 15}};
  ask_wrongly();
  for (int call = 0; call < 24; ++call) try_format(&formats[call % 4], call / 4 + call);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
