/* The program tests crossrail_shared_...: several processes share a device and its leader's buffers, on devices that are made of host memory
 * (virtual_world/host_device.h). HOST_DEVICE is the path of the driver. Results are compared with the definition, on fresh data, with what lies
 * around them.
 *
 *   shared_devices SEED ROUNDS KEYS [open|unshareable|refused]   KEYS: of every rank, 0,0,1,1; open: all processes give memory, and look;
 *                                                                refused: there can be no shared device */
#include <dlfcn.h>
#include <stdint.h>

#include "check.h"

#include "crossrail/crossrail.h"

enum { kMost = 64, kBuffers = 3, kGuard = 0xA5 };
static void* (*device_alloc)(size_t, int);
static void (*device_free)(void*);
static void* (*touchable)(const void*);

static int (*create)(MPI_Comm, int, crossrail_shared_device**);
static int (*free_device)(crossrail_shared_device**);
static int (*place_of)(const crossrail_shared_device*, int*, int*);
static int (*open_buffer)(crossrail_shared_device*, void*, size_t, crossrail_shared_buffer**);
static int (*close_buffer)(crossrail_shared_buffer**);
static void* (*address_of)(const crossrail_shared_buffer*);
static int (*reduce)(crossrail_shared_buffer*, size_t, size_t, MPI_Datatype, MPI_Op);
static int (*exchange)(crossrail_shared_buffer*, crossrail_shared_buffer*, size_t);
static const char* (*last_algorithm)(void);

static int keys[kMost], looks, kind;
static void find_functions(void) {
  *(void**)&create = dlsym(RTLD_DEFAULT, "crossrail_shared_device_create");
  *(void**)&free_device = dlsym(RTLD_DEFAULT, "crossrail_shared_device_free");
  *(void**)&place_of = dlsym(RTLD_DEFAULT, "crossrail_shared_device_place");
  *(void**)&open_buffer = dlsym(RTLD_DEFAULT, "crossrail_shared_buffer_open");
  *(void**)&close_buffer = dlsym(RTLD_DEFAULT, "crossrail_shared_buffer_close");
  *(void**)&address_of = dlsym(RTLD_DEFAULT, "crossrail_shared_buffer_address");
  *(void**)&reduce = dlsym(RTLD_DEFAULT, "crossrail_shared_allreduce");
  *(void**)&exchange = dlsym(RTLD_DEFAULT, "crossrail_shared_alltoall");
  *(void**)&last_algorithm = dlsym(RTLD_DEFAULT, "crossrail_last_algorithm");
}

static void open_driver(void) {
  void* driver = dlopen(getenv("HOST_DEVICE"), RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) fprintf(stderr, "%s\n", dlerror());
  *(void**)&device_alloc = dlsym(driver, "host_device_alloc");
  *(void**)&device_free = dlsym(driver, "host_device_free");
  *(void**)&touchable = dlsym(driver, "host_device_touchable");
}

static uint64_t state;
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % below;
}

/* This holds the ranks of a communicator, and which of them lead. */
struct team {
  MPI_Comm comm;
  crossrail_shared_device* device;
  int rank, size, place, processes, leads[kMost];
};

static struct team make_team(MPI_Comm comm) {
  struct team made = {.comm = comm, .rank = rank_in(comm), .size = size_of_comm(comm)};
  MPI_OK(create(comm, keys[rank_in(MPI_COMM_WORLD)], &made.device));
  MPI_OK(place_of(made.device, &made.place, &made.processes));
  const int mine = made.place == 0;
  MPI_OK(MPI_Allgather(&mine, 1, MPI_INT, made.leads, 1, MPI_INT, comm));
  return made;
}

struct buffer {
  struct team* team;
  size_t bytes;
  char* memory; /* A leader's memory is here; others have one page, or none. */
  crossrail_shared_buffer* shared;
};

static int leads(const struct team* team) { return team->place == 0; }

static struct buffer make_buffer(struct team* team, size_t bytes) {
  struct buffer made = {.team = team, .bytes = bytes};
  if (leads(team) || looks) made.memory = device_alloc(leads(team) ? bytes : 4096, kind);
  MPI_OK(open_buffer(team->device, made.memory, bytes, &made.shared));
  CHECK((address_of(made.shared) != NULL) == (leads(team) || looks), "%s has an address", leads(team) ? "a leader" : "another process");
  return made;
}

static void drop_buffer(struct buffer* buffer) {
  MPI_OK(close_buffer(&buffer->shared));
  CHECK(buffer->shared == NULL, "a closed buffer");
  if (buffer->memory != NULL) device_free(buffer->memory);
}

/* Elements are small whole numbers, so sums are exact in a float. */
static int element(int rank, size_t at, int salt) { return number(rank, salt, (int)at) % 997 - 300; }

struct reduction {
  MPI_Datatype type;
  MPI_Op op;
  size_t bytes;
};

static struct reduction reduction_number(unsigned number) {
  const struct reduction all[] = {{MPI_INT, MPI_SUM, 4}, {MPI_DOUBLE, MPI_SUM, 8}, {MPI_FLOAT, MPI_MAX, 4}, {MPI_INT, MPI_BXOR, 4},
                                  {MPI_LONG_DOUBLE, MPI_SUM, sizeof(long double)}, {MPI_SHORT, MPI_MIN, 2}};
  return all[number % 6];
}

static void store(char* at, MPI_Datatype type, long value) {
  if (type == MPI_INT) memcpy(at, &(int){(int)value}, sizeof(int));
  else if (type == MPI_SHORT) memcpy(at, &(short){(short)value}, sizeof(short));
  else if (type == MPI_FLOAT) memcpy(at, &(float){(float)value}, sizeof(float));
  else if (type == MPI_DOUBLE) memcpy(at, &(double){(double)value}, sizeof(double));
  else memcpy(at, &(long double){(long double)value}, 10);
}

static long combined(const struct team* team, const struct reduction* by, size_t at, int salt) {
  long result = 0;
  int any = 0;
  for (int rank = 0; rank < team->size; ++rank) {
    if (!team->leads[rank]) continue;
    const long value = element(rank, at, salt);
    if (!any) result = value;
    else if (by->op == MPI_SUM) result += value;
    else if (by->op == MPI_MAX) result = value > result ? value : result;
    else if (by->op == MPI_MIN) result = value < result ? value : result;
    else result ^= value;
    any = 1;
  }
  return result;
}

/* No kernel knows long doubles, and in these tests some node has two devices whose memory cannot be exported. */
static void check_form(const struct team* team, const struct reduction* by, size_t count) {
  int devices = 0;
  for (int rank = 0; rank < team->size; ++rank) devices += team->leads[rank];
  const char* lanes = getenv("CROSSRAIL_SHARED_LANES");
  const int standard = by->type == MPI_LONG_DOUBLE || kind != 0 || (lanes != NULL && strcmp(lanes, "0") == 0);
  const char* const wanted = standard ? "standard" : "multi_lane";
  if (devices > 1 && count > 0) CHECK(strcmp(last_algorithm(), wanted) == 0, "%s instead of %s", last_algorithm(), wanted);
}

static void check_call(struct buffer* buffer, unsigned which, size_t offset, size_t count, int salt) {
  const struct reduction by = reduction_number(which);
  struct team* const team = buffer->team;
  char* const all = leads(team) ? touchable(buffer->memory) : NULL;
  if (all != NULL) {
    memset(all, kGuard, buffer->bytes);
    for (size_t at = 0; at < count; ++at) store(all + offset + at * by.bytes, by.type, element(team->rank, at, salt));
  }
  MPI_OK(reduce(buffer->shared, offset, count, by.type, by.op));
  check_form(team, &by, count);
  if (all == NULL) return;
  char* const wanted = malloc(buffer->bytes);
  memset(wanted, kGuard, buffer->bytes);
  for (size_t at = 0; at < count; ++at) store(wanted + offset + at * by.bytes, by.type, combined(team, &by, at, salt));
  size_t first = 0;
  for (; first < buffer->bytes; ++first) {
    const int unused = by.type == MPI_LONG_DOUBLE && (first - offset) % by.bytes >= 10;
    if (all[first] != wanted[first] && !unused) break;
  }
  CHECK(first == buffer->bytes, "byte %zu differs: %zu elements of kind %u from byte %zu on, by %s", first, count, which % 6,
        offset, last_algorithm());
  free(wanted);
}

static void check_exchange(struct team* team, size_t block, int salt) {
  int devices = 0, mine = 0;
  for (int rank = 0; rank < team->size; ++rank) {
    if (rank == team->rank) mine = devices;
    devices += team->leads[rank];
  }
  const size_t all = (size_t)devices * block;
  struct buffer send = make_buffer(team, all + 32), recv = make_buffer(team, all + 48);
  char* const from = leads(team) ? touchable(send.memory) : NULL;
  for (size_t at = 0; from != NULL && at < all; ++at) from[at] = (char)number(mine, (int)(at / block), (int)(at % block) + salt);
  if (leads(team)) memset(touchable(recv.memory), kGuard, recv.bytes);
  MPI_OK(exchange(send.shared, recv.shared, block));
  size_t wrong = 0;
  for (size_t at = 0; leads(team) && at < recv.bytes; ++at) {
    const char wanted = at < all ? (char)number((int)(at / block), mine, (int)(at % block) + salt) : (char)kGuard;
    wrong += ((const char*)touchable(recv.memory))[at] != wanted;
  }
  CHECK(wrong == 0, "%zu bytes wrong of blocks of %zu", wrong, block);
  CHECK(exchange(send.shared, recv.shared, block + 33) != MPI_SUCCESS, "blocks longer than the buffer");
  CHECK(exchange(send.shared, send.shared, block) != MPI_SUCCESS, "one buffer on both sides");
  drop_buffer(&send);
  drop_buffer(&recv);
}

static void random_calls(struct team* team, int rounds) {
  struct buffer buffers[kBuffers];
  for (int i = 0; i < kBuffers; ++i) buffers[i] = make_buffer(team, 200 + draw(i == 0 ? 2000 : 400000));
  for (int round = 0; round < rounds; ++round) {
    struct buffer* const one = &buffers[draw(kBuffers)];
    if (draw(10) == 0) {
      drop_buffer(one);
      *one = make_buffer(team, 200 + draw(200000));
    }
    const unsigned which = draw(6);
    const size_t offset = 16 * (size_t)draw(8), most = (one->bytes - offset) / reduction_number(which).bytes;
    check_call(one, which, offset, draw(3) == 0 ? draw(8) : draw((unsigned)most + 1), round);
    if (draw(5) == 0) MPI_OK(checked_alltoall(team->comm, 3, round));
  }
  for (int i = 0; i < kBuffers; ++i) drop_buffer(&buffers[i]);
}

static void user_function(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

static void check_refused(const char* what, int code, int wanted_class) {
  int error_class = MPI_SUCCESS;
  CHECK(code != MPI_SUCCESS, "%s is accepted", what);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  CHECK(error_class == wanted_class || wanted_class < 0, "%s: class %d", what, error_class);
}

static void wrong_arguments(struct team* team) {
  crossrail_shared_device* none = NULL;
  crossrail_shared_buffer* no_buffer = NULL;
  check_refused("a negative key", create(team->comm, -1, &none), MPI_ERR_ARG);
  check_refused("no communicator", create(MPI_COMM_NULL, 0, &none), MPI_ERR_ARG);
  check_refused("nowhere to put it", create(team->comm, 0, NULL), MPI_ERR_ARG);
  check_refused("no device", open_buffer(NULL, NULL, 4, &no_buffer), MPI_ERR_ARG);
  check_refused("no buffer", reduce(NULL, 0, 1, MPI_INT, MPI_SUM), MPI_ERR_ARG);
  check_refused("nothing to close", close_buffer(&no_buffer), MPI_ERR_ARG);
  char host[64];
  check_refused("host memory", open_buffer(team->device, leads(team) ? host : NULL, sizeof host, &no_buffer), MPI_ERR_ARG);
  check_refused("no memory", open_buffer(team->device, NULL, 64, &no_buffer), MPI_ERR_ARG);
  struct buffer buffer = make_buffer(team, 4096);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op own;
  MPI_Op_create(user_function, 1, &own);
  check_refused("too many elements", reduce(buffer.shared, 0, 1025, MPI_INT, MPI_SUM), MPI_ERR_ARG);
  check_refused("elements beyond the end", reduce(buffer.shared, 4096, 1, MPI_INT, MPI_SUM), MPI_ERR_ARG);
  check_refused("a derived type", reduce(buffer.shared, 0, 1, pair, MPI_SUM), MPI_ERR_ARG);
  check_refused("no type", reduce(buffer.shared, 0, 1, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_ARG);
  check_refused("an operation of the program's", reduce(buffer.shared, 0, 1, MPI_INT, own), MPI_ERR_ARG);
  check_refused("bits of floats", reduce(buffer.shared, 0, 1, MPI_FLOAT, MPI_BXOR), MPI_ERR_ARG);
  crossrail_shared_device* same = team->device;
  check_refused("a device with an open buffer", free_device(&same), MPI_ERR_ARG);
  MPI_Op_free(&own);
  MPI_Type_free(&pair);
  check_call(&buffer, 0, 0, 1024, 1);
  drop_buffer(&buffer);
}

static int all_is_refused(void) {
  crossrail_shared_device* none = NULL;
  check_refused("a device where there can be none", create(MPI_COMM_WORLD, 0, &none), -1);
  CHECK(none == NULL, "an error and a device");
  MPI_OK(checked_alltoall(MPI_COMM_WORLD, 3, 1));
  const int result = verdict();
  MPI_Finalize();
  return result;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  state = argc > 1 ? (uint64_t)atoi(argv[1]) : 1;
  const int rounds = argc > 2 ? atoi(argv[2]) : 50;
  const char* at = argc > 3 ? argv[3] : "0";
  for (int rank = 0; rank < kMost; ++rank) {
    keys[rank] = atoi(at);
    if (strchr(at, ',') != NULL) at = strchr(at, ',') + 1;
  }
  looks = argc > 4 && strcmp(argv[4], "open") == 0;
  kind = argc > 4 && strcmp(argv[4], "unshareable") == 0;
  find_functions();
  open_driver();
  if (create == NULL || device_alloc == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  if (argc > 4 && strcmp(argv[4], "refused") == 0) return all_is_refused();
  struct team world = make_team(MPI_COMM_WORLD);
  random_calls(&world, rounds);
  for (int call = 0; call < 6; ++call) check_exchange(&world, call < 3 ? 1 + draw(64) : 1 + draw(90000), call);
  wrong_arguments(&world);
  /* Another device exists at the same time, of the same ranks the other way round, with other leaders. */
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, world.size - world.rank, &reversed);
  struct team other = make_team(reversed);
  struct buffer of_world = make_buffer(&world, 50000), of_other = make_buffer(&other, 60000);
  for (int call = 0; call < 6; ++call) {
    check_call(&of_world, (unsigned)call, 16, 3000, call);
    check_call(&of_other, (unsigned)call, 0, 3600, call);
  }
  drop_buffer(&of_other);
  MPI_OK(free_device(&other.device));
  MPI_Comm_free(&reversed);
  check_call(&of_world, 1, 0, 6000, 9);
  drop_buffer(&of_world);
  MPI_OK(free_device(&world.device));
  CHECK(world.device == NULL, "a freed device");
  const int result = verdict();
  MPI_Finalize();
  return result;
}
