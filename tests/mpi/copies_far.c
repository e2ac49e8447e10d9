/* Blocks at absolute addresses in device memory far from that of the host, of which an MPI library that knows nothing of devices gets copies
 * at the same distances: on the heap and on the stack, by all forms of the call; then where no addresses are free for one of the blocks,
 * which is an error of the call. HOST_DEVICE is the path of the driver, HOST_DEVICE_AT where its memory lies.
 *
 *   copies_far [FORMS]    2: without persistent calls, which have copies only where the MPI library's progress has a hook */
#include <stdint.h>
#include <sys/mman.h>

#include "check.h"
#include "device_memory_of_tests.h"
#include "persistent_names.h"

enum { kInts = 1000, kMostHogs = 4096, kHuge = 800 << 20 };

/* One type over a block on the device, one on the heap and one on the stack. */
typedef struct {
  int *device, *heap, *stack;
  MPI_Datatype type;
} blocks;

static blocks blocks_of(int* stack, int device_ints) {
  blocks it = {device_alloc(sizeof(int) * (size_t)device_ints, 0), malloc(sizeof(int) * kInts), stack, MPI_DATATYPE_NULL};
  const int counts[3] = {device_ints, kInts, kInts};
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

static void right(int form) {
  int sent_stack[kInts], got_stack[kInts];
  blocks from = blocks_of(sent_stack, kInts), to = blocks_of(got_stack, kInts);
  int* const sent[3] = {touchable(from.device), from.heap, from.stack};
  int* const got[3] = {touchable(to.device), to.heap, to.stack};
  for (int block = 0; block < 3; ++block) {
    for (int at = 0; at < kInts; ++at) sent[block][at] = number(form, block, at), got[block][at] = -1;
  }
  MPI_OK(exchange(&from, &to, form));
  int wrong = 0;
  for (int block = 0; block < 3; ++block) {
    for (int at = 0; at < kInts; ++at) wrong += got[block][at] != number(form, block, at);
  }
  CHECK(wrong == 0, "%d wrong in form %d", wrong, form);
  give_back(&from);
  give_back(&to);
}

/* Holds all free addresses in which more than a GiB is left, while a call has a block that is longer. */
static void refused(int form) {
  static struct {
    void* memory;
    size_t bytes;
  } hogs[kMostHogs];
  int count = 0, stack[kInts] = {0}, class = MPI_SUCCESS;
  blocks from = blocks_of(stack, kInts), to = blocks_of(stack, kHuge);
  for (size_t bytes = (size_t)1 << 46; bytes >= (size_t)1 << 30 && count < kMostHogs; bytes /= 2) {
    for (void* memory; count < kMostHogs; hogs[count].memory = memory, hogs[count++].bytes = bytes) {
      memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) break;
    }
  }
  const int code = exchange(&from, &to, form);
  while (--count >= 0) munmap(hogs[count].memory, hogs[count].bytes);
  MPI_OK(MPI_Error_class(code, &class));
  CHECK(code != MPI_SUCCESS, "no error in form %d where there are no addresses", form);
  CHECK(class == MPI_ERR_NO_MEM || class == MPI_ERR_OTHER, "class %d in form %d", class, form);
  give_back(&from);
  give_back(&to);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int forms = argc > 1 ? atoi(argv[1]) : 3;
  open_driver();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int form = 0; form < forms; ++form) right(form);
  for (int form = 0; form < forms; ++form) refused(form);
  for (int form = 0; form < forms; ++form) right(form);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
