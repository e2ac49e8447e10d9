/* Processes call MPI_Alltoall on the memory of a device that is made of host memory (virtual_world/host_device.h). Kinds of memory differ between
 * ranks and sides; there are types with gaps, calls in place, and memory that is freed and allocated anew. HOST_DEVICE is the path of the driver.
 *
 *   device_ranks SEED CALLS [LARGEST_COUNT [blocking|pending|persistent [driver_first]]]   pending: MPI_Ialltoall, several at a time */
#include <dlfcn.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"
#include "device_memory_of_tests.h"

enum { kHost, kPlain, kUnshareable, kManaged, kKinds };

static uint64_t state;
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % below;
}

struct side {
  int kind, stride;   /* The stride is in ints; 1 is contiguous. */
  size_t bytes, shift;
  char* memory;
  MPI_Datatype type;
};

/* Returns whether device memory was used as such, and not by way of the host. */
static int carried_on_device(void) {
  const char* (*last)(void) = (const char* (*)(void))dlsym(RTLD_DEFAULT, "crossrail_last_algorithm");
  const char* name = last == NULL ? "native" : last();
  return strncmp(name, "node_", 5) != 0 && strcmp(name, "native") != 0;
}

static struct side make_side(int kind, int stride, int count) {
  struct side made = {kind, stride, sizeof(int) * (size_t)(count * stride) + 256, 64 + 4 * (size_t)draw(4), NULL, MPI_INT};
  made.memory = kind == kHost ? malloc(made.bytes) : device_alloc(made.bytes, kind - kPlain);
  memset(kind == kHost ? made.memory : touchable(made.memory), 0xA5, made.bytes);
  if (stride > 1) {
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(sizeof(int) * (size_t)stride), &made.type);
    MPI_Type_commit(&made.type);
  }
  return made;
}

static void drop_side(struct side* side) {
  if (side->kind == kHost) free(side->memory);
  else device_free(side->memory);
  if (side->stride > 1) MPI_Type_free(&side->type);
}

static int* ints_of(const struct side* side) {
  char* memory = side->kind == kHost ? side->memory : touchable(side->memory);
  return (int*)(memory + side->shift);
}

static int wrong_ints(const struct side* side, int rank, int size, int count, int salt) {
  int wrong = 0;
  const int* got = ints_of(side);
  for (int at = 0; at < size * count * side->stride; ++at) {
    const int element = at / side->stride;
    const int expected = at % side->stride != 0 ? (int)0xA5A5A5A5 : number(element / count, rank, element % count + salt);
    wrong += got[at] != expected;
  }
  const char* all = (const char*)got - side->shift;
  for (size_t at = 0; at < side->bytes; ++at) {
    if (at >= side->shift && at < side->shift + sizeof(int) * (size_t)(size * count * side->stride)) continue;
    wrong += all[at] != (char)0xA5;
  }
  return wrong;
}

struct call {
  int number, count, in_place, mixed, gaps, all_kind;
  struct side send, recv;
};

static void fill_sent(const struct call* call) {
  const struct side* from = call->in_place ? &call->recv : &call->send;
  const int rank = rank_in(MPI_COMM_WORLD), ints = size_of_comm(MPI_COMM_WORLD) * call->count;
  for (int at = 0; at < ints; ++at) ints_of(from)[at * from->stride] = number(rank, at / call->count, at % call->count + call->number);
}

/* The numbers that all ranks draw alike come first, then those that each draws for itself. */
static struct call make_call(int call, int largest, uint64_t seed) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  struct call made = {.number = call};
  state = seed * 1000 + (uint64_t)call;
  draw(2);
  made.count = 1 + (int)draw(draw(3) == 0 ? (unsigned)largest : 64);
  made.in_place = draw(3) == 0;
  made.mixed = (int)draw(2);
  made.all_kind = 1 + (int)draw(kKinds - 1);
  made.gaps = draw(3) == 0;
  state += 7919ull * (uint64_t)(rank + 1);
  draw(2);
  const int ints = size * made.count;
  made.send = make_side(made.mixed ? (int)draw(kKinds) : made.all_kind, made.gaps ? 1 + (int)draw(3) : 1, ints);
  made.recv = make_side(made.mixed ? (int)draw(kKinds) : kPlain, made.gaps ? 1 + (int)draw(3) : 1, ints);
  fill_sent(&made);
  return made;
}

static void check_received(const struct call* call) {
  const struct side *send = &call->send, *recv = &call->recv;
  const int wrong = wrong_ints(recv, rank_in(MPI_COMM_WORLD), size_of_comm(MPI_COMM_WORLD), call->count, call->number);
  CHECK(wrong == 0, "call %d: %d wrong, %d ints a block%s, kinds %d and %d, strides %d and %d", call->number, wrong, call->count,
        call->in_place ? " in place" : "", send->kind, recv->kind, send->stride, recv->stride);
}

static void drop_sides(struct call* call) {
  drop_side(&call->send);
  drop_side(&call->recv);
}

static void end_call(struct call* call) {
  check_received(call);
  drop_sides(call);
}

static const void* sent_by(const struct call* call) { return call->in_place ? MPI_IN_PLACE : call->send.memory + call->send.shift; }

static void blocking_calls(int calls, int largest, uint64_t seed) {
  for (int number = 1; number <= calls; ++number) {
    struct call call = make_call(number, largest, seed);
    MPI_OK(MPI_Alltoall(sent_by(&call), call.count, call.send.type, call.recv.memory + call.recv.shift, call.count, call.recv.type,
                        MPI_COMM_WORLD));
    /* All ranks look for modules at their calls 1, 2, 4, .... Managed memory with gaps goes by the host. */
    const int by_host = call.gaps && call.all_kind == kManaged;
    if (number > 4 && !call.mixed && !by_host && size_of_comm(MPI_COMM_WORLD) > 1) CHECK(carried_on_device(), "call %d went by host memory", number);
    end_call(&call);
  }
}

static void pending_calls(int calls, int largest, uint64_t seed) {
  enum { kAtOnce = 7 };
  for (int first = 1; first <= calls; first += kAtOnce) {
    struct call pending[kAtOnce];
    MPI_Request requests[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) {
      struct call* const call = &pending[i];
      *call = make_call(first + i, largest, seed);
      if (draw(8) == 0) usleep(300);
      MPI_OK(MPI_Ialltoall(sent_by(call), call->count, call->send.type, call->recv.memory + call->recv.shift, call->count, call->recv.type,
                           MPI_COMM_WORLD, &requests[i]));
    }
    for (int left = kAtOnce; left > 0; --left) {
      int which = MPI_UNDEFINED;
      MPI_OK(MPI_Waitany(kAtOnce, requests, &which, MPI_STATUS_IGNORE));
      CHECK(which != MPI_UNDEFINED, "nothing to wait for");
      if (which != MPI_UNDEFINED) end_call(&pending[which]);
    }
  }
}

typedef int (*init_function)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);

static void persistent_calls(int calls, int largest, uint64_t seed) {
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
  const init_function init = (init_function)dlsym(RTLD_DEFAULT, "MPIX_Alltoall_init");
#else
  const init_function init = (init_function)dlsym(RTLD_DEFAULT, "MPI_Alltoall_init");
#endif
  CHECK(init != NULL, "there is no MPI_Alltoall_init");
  for (int number = 1; init != NULL && number <= calls; ++number) {
    struct call call = make_call(number, largest, seed);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_OK(init(sent_by(&call), call.count, call.send.type, call.recv.memory + call.recv.shift, call.count, call.recv.type, MPI_COMM_WORLD,
                MPI_INFO_NULL, &request));
    for (int round = 0; round < 3; ++round, ++call.number) {
      if (round > 0) {
        memset(call.recv.kind == kHost ? call.recv.memory : touchable(call.recv.memory), 0xA5, call.recv.bytes);
        fill_sent(&call);
      }
      MPI_OK(MPI_Start(&request));
      MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      check_received(&call);
    }
    MPI_OK(MPI_Request_free(&request));
    drop_sides(&call);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const uint64_t seed = argc > 1 ? (uint64_t)atoi(argv[1]) : 1;
  const int calls = argc > 2 ? atoi(argv[2]) : 200, largest = argc > 3 ? atoi(argv[3]) : 20000;
  const char* const form = argc > 4 ? argv[4] : "blocking";
  const int driver_first = argc > 5; /* Nobody would expect one on a machine without devices. */
  if (driver_first) open_driver();
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 1));
  if (!driver_first) open_driver();
  (strcmp(form, "pending") == 0 ? pending_calls : strcmp(form, "persistent") == 0 ? persistent_calls : blocking_calls)(calls, largest, seed);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
