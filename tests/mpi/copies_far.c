/* Blocks lie at absolute addresses, in host memory and on a device whose memory lies terabytes away, in one call of an MPI library that knows nothing
 * of devices. A copy would have to keep their distance. HOST_DEVICE is the path of the driver, HOST_DEVICE_AT is where its memory lies.
 *
 *   copies_far [FORMS]    2: without persistent calls, which have copies only where the MPI library's progress has a hook */
#include <stdint.h>

#include "check.h"
#include "device_memory_of_tests.h"
#include "persistent_names.h"

enum { kInts = 1000 };

/* One type describes a block on the device, one on the heap and one on the stack. */
typedef struct {
  int *device, *heap, *stack;
  MPI_Datatype type;
} blocks;

static blocks blocks_of(int* stack) {
  blocks it = {device_alloc(sizeof(int) * kInts, 0), malloc(sizeof(int) * kInts), stack, MPI_DATATYPE_NULL};
  const int counts[3] = {kInts, kInts, kInts};
  const MPI_Aint places[3] = {(MPI_Aint)(intptr_t)it.device, (MPI_Aint)(intptr_t)it.heap, (MPI_Aint)(intptr_t)it.stack};
  MPI_OK(MPI_Type_create_hindexed(3, counts, places, MPI_INT, &it.type));
  MPI_OK(MPI_Type_commit(&it.type));
  return it;
}

static void give_back(blocks* it) {
  MPI_OK(MPI_Type_free(&it->type));
  device_free(it->device);
  free(it->heap);
}

static int exchange(const blocks* from, const blocks* to, int form) {
  const int one = 1, zero = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (form == 0) return MPI_Alltoallw(MPI_BOTTOM, &one, &zero, &from->type, MPI_BOTTOM, &one, &zero, &to->type, MPI_COMM_SELF);
  int code = MPI_ERR_OTHER;
  if (form == 1) code = MPI_Ialltoallw(MPI_BOTTOM, &one, &zero, &from->type, MPI_BOTTOM, &one, &zero, &to->type, MPI_COMM_SELF, &request);
#if PERSISTENT_COLLECTIVES
  else code = MPI_Alltoallw_init(MPI_BOTTOM, &one, &zero, &from->type, MPI_BOTTOM, &one, &zero, &to->type, MPI_COMM_SELF, MPI_INFO_NULL, &request);
#endif
  if (code == MPI_SUCCESS && form == 2) code = MPI_Start(&request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && form == 2) code = MPI_Request_free(&request);
  return code;
}

/* Such a call ends in an error and writes nothing. */
static void refused(int form) {
  int sent[kInts] = {0}, got[kInts], class = MPI_SUCCESS;
  memset(got, 0x5A, sizeof got);
  blocks from = blocks_of(sent), to = blocks_of(got);
  memset(touchable(to.device), 0x5A, sizeof got);
  MPI_OK(MPI_Error_class(exchange(&from, &to, form), &class));
  CHECK(class == MPI_ERR_NO_MEM || class == MPI_ERR_OTHER, "class %d in form %d", class, form);
  CHECK(got[0] == 0x5A5A5A5A && memcmp(got, touchable(to.device), sizeof got) == 0, "bytes came in form %d", form);
  give_back(&from);
  give_back(&to);
}

/* Afterwards the communicator serves other calls. */
static void right(void) {
  int* const sent = device_alloc(sizeof(int) * kInts, 0);
  int* const got = device_alloc(sizeof(int) * kInts, 0);
  for (int at = 0; at < kInts; ++at) ((int*)touchable(sent))[at] = at;
  MPI_OK(MPI_Alltoall(sent, kInts, MPI_INT, got, kInts, MPI_INT, MPI_COMM_SELF));
  CHECK(memcmp(touchable(sent), touchable(got), sizeof(int) * kInts) == 0, "wrong bytes after an error");
  device_free(sent);
  device_free(got);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int forms = argc > 1 ? atoi(argv[1]) : 3;
  open_driver();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int form = 0; form < forms; ++form) refused(form);
  right();
  const int result = verdict();
  MPI_Finalize();
  return result;
}
