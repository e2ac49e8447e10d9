/* MPI_Alltoall on the memory of a device that is made of host memory (virtual_world/host_device.h), among
 * processes: kinds of memory that differ between ranks and sides, types with gaps, in place, memory
 * freed and allocated anew. HOST_DEVICE is the path of the driver.
 *
 *   device_ranks SEED CALLS [LARGEST_COUNT] */
#include <dlfcn.h>
#include <stdint.h>

#include "check.h"

enum { kHost, kPlain, kUnshareable, kManaged, kKinds };

static void* (*device_alloc)(size_t, int);
static void (*device_free)(void*);
static void* (*touchable)(const void*);

static uint64_t state;
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % below;
}

struct side {
  int kind, stride;   /* of ints: 1 is contiguous */
  size_t bytes, shift;
  char* memory;
  MPI_Datatype type;
};

static void open_driver(void) {
  void* driver = dlopen(getenv("HOST_DEVICE"), RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) fprintf(stderr, "%s\n", dlerror());
  device_alloc = (void* (*)(size_t, int))dlsym(driver, "host_device_alloc");
  device_free = (void (*)(void*))dlsym(driver, "host_device_free");
  touchable = (void* (*)(const void*))dlsym(driver, "host_device_touchable");
}

/* Whether device memory was used as such, and not by way of the host. */
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

/* What all ranks draw alike comes first, then what each draws for itself. */
static void one_call(int call, int largest, uint64_t seed) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  state = seed * 1000 + (uint64_t)call;
  draw(2);
  const int count = 1 + (int)draw(draw(3) == 0 ? (unsigned)largest : 64), in_place = draw(3) == 0, mixed = draw(2);
  const int all_kind = 1 + (int)draw(kKinds - 1), gaps = draw(3) == 0;
  state += 7919ull * (uint64_t)(rank + 1);
  draw(2);
  struct side send = make_side(mixed ? (int)draw(kKinds) : all_kind, gaps ? 1 + (int)draw(3) : 1, size * count);
  struct side recv = make_side(mixed ? (int)draw(kKinds) : kPlain, gaps ? 1 + (int)draw(3) : 1, size * count);
  const struct side* from = in_place ? &recv : &send;
  for (int at = 0; at < size * count; ++at) ints_of(from)[at * from->stride] = number(rank, at / count, at % count + call);
  MPI_OK(MPI_Alltoall(in_place ? MPI_IN_PLACE : send.memory + send.shift, count, send.type, recv.memory + recv.shift, count, recv.type,
                      MPI_COMM_WORLD));
  /* All ranks look for modules at their calls 1, 2, 4, ...; managed memory with gaps goes by the host. */
  if (call > 4 && !mixed && !(gaps && all_kind == kManaged)) CHECK(carried_on_device(), "call %d went by host memory", call);
  const int wrong = wrong_ints(&recv, rank, size, count, call);
  CHECK(wrong == 0, "call %d: %d wrong, %d ints a block%s, kinds %d and %d, strides %d and %d", call, wrong, count,
        in_place ? " in place" : "", send.kind, recv.kind, send.stride, recv.stride);
  drop_side(&send);
  drop_side(&recv);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const uint64_t seed = argc > 1 ? (uint64_t)atoi(argv[1]) : 1;
  const int calls = argc > 2 ? atoi(argv[2]) : 200, largest = argc > 3 ? atoi(argv[3]) : 20000;
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 1)); /* before there is a driver */
  open_driver();
  for (int call = 1; call <= calls; ++call) one_call(call, largest, seed);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
