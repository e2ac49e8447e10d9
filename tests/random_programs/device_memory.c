#include "device_memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

enum { kSlabBytes = 1 << 20, kAlign = 512, kMostSlabs = 256 };

static const Driver* driver;

const Driver* open_driver_of_process(void) { return driver; }

/* It is of virtual_world/host_device.h. */
typedef struct {
  int refuse_maps, refuse_all_maps, devices;
  size_t most_bytes;
  unsigned delay_us;
  int refuse_queues, generation;
} HostDeviceOptions;

static struct {
  void* (*alloc)(size_t, int);
  void (*free)(void*);
  void* (*touchable)(const void*);
  void (*set)(const HostDeviceOptions*);
  void* (*open_stream)(void);
  void (*wait)(void*);
} host;

static void take_host(DeviceMemory* memory, size_t bytes) {
  static const int kinds[] = {[kWholeAllocation] = 0, [kUnshareable] = 1, [kManaged] = 2, [kChunks] = 3};
  memory->bytes = bytes;
  memory->base = memory->at = host.alloc(bytes, kinds[memory->kind]);
}

static void give_host(DeviceMemory* memory) { host.free(memory->base); }
static void copy_host(void* to, const void* from, size_t bytes) { memcpy(host.touchable(to), host.touchable(from), bytes); }

static void host_behaves(int delay_us, int refuses_maps) {
  const char* const devices = getenv("HOST_DEVICE_SHARED");
  const HostDeviceOptions options = {
      .delay_us = (unsigned)delay_us, .refuse_maps = refuses_maps, .devices = devices == NULL ? 0 : atoi(devices)};
  host.set(&options);
}

static const Driver* host_driver(void* library) {
  static Driver made = {.take = take_host, .give_back = give_host, .copy = copy_host, .behave = host_behaves};
  *(void**)&host.alloc = dlsym(library, "host_device_alloc");
  *(void**)&host.free = dlsym(library, "host_device_free");
  *(void**)&host.touchable = dlsym(library, "host_device_touchable");
  *(void**)&host.set = dlsym(library, "host_device_set");
  *(void**)&host.open_stream = dlsym(library, "host_device_open_stream");
  *(void**)&host.wait = dlsym(library, "host_device_wait");
  made.open_stream = host.open_stream;
  made.wait = host.wait;
  return host.alloc != NULL && host.free != NULL && host.touchable != NULL && host.set != NULL ? &made : NULL;
}

void open_driver(const char* path, int rank) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) give_up("%s", dlerror());
  driver = host_driver(library);
  if (driver == NULL) driver = cuda_driver(library, rank);
  if (driver == NULL) give_up("%s is no driver of devices", path);
}

/* Parts of an allocation are given out, one behind the other. It is freed with the last of them, once a part has not fit. */
typedef struct {
  DeviceMemory whole;
  size_t used;
  int parts, is_full;
} Slab;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Slab slabs[kMostSlabs];

static void take_whole(DeviceMemory* memory, size_t bytes) {
  driver->take(memory, bytes);
  if (memory->at == NULL) give_up("no device memory of %zu bytes", bytes);
}

static void drop_if_unused(Slab* slab) {
  if (slab->parts > 0 || !slab->is_full) return;
  driver->give_back(&slab->whole);
  memset(slab, 0, sizeof *slab);
}

/* Returns one with so much left. The others are full from now on. */
static Slab* slab_for(size_t bytes) {
  Slab *found = NULL, *empty = NULL;
  for (int i = 0; i < kMostSlabs; ++i) {
    Slab* const slab = &slabs[i];
    if (slab->whole.at != NULL && !slab->is_full) {
      if (slab->used + bytes <= slab->whole.bytes) found = slab;
      else slab->is_full = 1;
      drop_if_unused(slab);
    }
    if (slab->whole.at == NULL && empty == NULL) empty = slab;
  }
  if (found != NULL) return found;
  if (empty == NULL) give_up("more than %d allocations", kMostSlabs);
  take_whole(&empty->whole, bytes > kSlabBytes ? bytes : kSlabBytes);
  return empty;
}

static void take_part(DeviceMemory* memory, size_t bytes) {
  const size_t room = (bytes + kAlign - 1) / kAlign * kAlign;
  pthread_mutex_lock(&mutex);
  Slab* const slab = slab_for(room);
  memory->base = slab;
  memory->bytes = bytes;
  memory->at = slab->whole.at + slab->used;
  slab->used += room;
  ++slab->parts;
  pthread_mutex_unlock(&mutex);
}

DeviceMemory take_device_memory(int kind, size_t bytes) {
  DeviceMemory memory = {.kind = kind};
  if (bytes == 0) bytes = 1;
  (kind == kPartOfAllocation ? take_part : take_whole)(&memory, bytes);
  return memory;
}

void give_device_memory_back(DeviceMemory* memory) {
  if (memory->kind != kPartOfAllocation) {
    driver->give_back(memory);
    return;
  }
  pthread_mutex_lock(&mutex);
  Slab* const slab = memory->base;
  --slab->parts;
  drop_if_unused(slab);
  pthread_mutex_unlock(&mutex);
}
