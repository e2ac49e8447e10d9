/* This is CUDA's driver, with functions and structures as cuda.h has them, which is not needed. */
#include <dlfcn.h>
#include <stdint.h>

#include "device_memory.h"
#include "script.h"

typedef unsigned long long Address;
typedef struct {
  int type, id;
} Location;
typedef struct {
  int type, handle_types;
  Location location;
  void* not_used;
  unsigned char flags[8];
} Properties;
typedef struct {
  Location location;
  int flags;
} Access;

enum { kPinned = 1, kFileDescriptors = 1, kOnDevice = 1, kReadAndWrite = 3, kForAllStreams = 1, kNotWithDefaultStream = 1, kRelaxed = 2 };

static struct {
  int (*init)(unsigned);
  int (*count)(int*);
  int (*retain)(void**, int);
  int (*use)(void*);
  int (*alloc)(Address*, size_t);
  int (*free)(Address);
  int (*copy)(Address, Address, size_t);
  int (*alloc_in_pool)(Address*, size_t, void*);
  int (*free_in_pool)(Address, void*);
  int (*wait)(void*);
  int (*alloc_managed)(Address*, size_t, unsigned);
  int (*granularity)(size_t*, const Properties*, int);
  int (*reserve)(Address*, size_t, size_t, Address, unsigned long long);
  int (*free_reserved)(Address, size_t);
  int (*create)(unsigned long long*, size_t, const Properties*, unsigned long long);
  int (*release)(unsigned long long);
  int (*map)(Address, size_t, size_t, unsigned long long, unsigned long long);
  int (*unmap)(Address, size_t);
  int (*allow)(Address, size_t, const Access*, size_t);
  int (*open_stream)(void**, unsigned);
  int (*begin_capture)(void*, int);
  int (*end_capture)(void*, void**);
  int (*instantiate)(void**, void*, unsigned long long);
  int (*launch)(void*, void*);
  int (*drop)(void*);
  int (*drop_graph)(void*);
} cuda;
static void* context;
static int device;

#define CUDA_OK(name, ...)                                                  \
  do {                                                                      \
    const int code_ = cuda.name(__VA_ARGS__);                               \
    if (code_ != 0) give_up("the driver: %s: error %d", #name, code_);      \
  } while (0)

/* Each thread has a context of its own. */
static void use_context(void) {
  static _Thread_local int used;
  if (!used) CUDA_OK(use, context);
  used = 1;
}

static size_t granularity_of(const Properties* properties) {
  size_t bytes = 0;
  CUDA_OK(granularity, &bytes, properties, 0);
  return bytes;
}

/* The bytes in the middle lie on both sides of a border between chunks. */
static void take_chunks(DeviceMemory* memory, size_t bytes) {
  const Properties properties = {.type = kPinned, .handle_types = kFileDescriptors, .location = {kOnDevice, device}};
  const Access access = {{kOnDevice, device}, kReadAndWrite};
  const size_t chunk = granularity_of(&properties);
  Address base = 0;
  memory->bytes = (bytes + chunk - 1) / chunk * chunk + chunk;
  CUDA_OK(reserve, &base, memory->bytes, 0, 0, 0);
  for (size_t at = 0; at < memory->bytes; at += chunk) {
    unsigned long long made = 0;
    CUDA_OK(create, &made, chunk, &properties, 0);
    CUDA_OK(map, base + at, chunk, 0, made, 0);
    CUDA_OK(release, made);
  }
  CUDA_OK(allow, base, memory->bytes, &access, 1);
  const size_t half = bytes / 2 < chunk ? bytes / 2 / 16 * 16 : chunk;
  memory->base = (void*)(uintptr_t)base;
  memory->at = (unsigned char*)memory->base + chunk - half;
}

static void take(DeviceMemory* memory, size_t bytes) {
  Address base = 0;
  use_context();
  if (memory->kind == kChunks) {
    take_chunks(memory, bytes);
    return;
  }
  if (memory->kind == kUnshareable) {
    CUDA_OK(alloc_in_pool, &base, bytes, NULL);
    CUDA_OK(wait, NULL);
  } else if (memory->kind == kManaged) {
    CUDA_OK(alloc_managed, &base, bytes, kForAllStreams);
  } else {
    CUDA_OK(alloc, &base, bytes);
  }
  memory->bytes = bytes;
  memory->base = memory->at = (unsigned char*)(uintptr_t)base;
}

static void give_back(DeviceMemory* memory) {
  const Address base = (Address)(uintptr_t)memory->base;
  use_context();
  if (memory->kind == kChunks) {
    CUDA_OK(wait, NULL); /* What cuMemcpy has begun may still be on its way, and this call, unlike cuMemFree, does not wait for it. */
    CUDA_OK(unmap, base, memory->bytes);
    CUDA_OK(free_reserved, base, memory->bytes);
  } else if (memory->kind == kUnshareable) {
    CUDA_OK(free_in_pool, base, NULL);
  } else {
    CUDA_OK(free, base);
  }
}

static void copy(void* to, const void* from, size_t bytes) {
  use_context();
  CUDA_OK(copy, (Address)(uintptr_t)to, (Address)(uintptr_t)from, bytes);
}

static void* open_stream(void) {
  void* stream = NULL;
  use_context();
  CUDA_OK(open_stream, &stream, kNotWithDefaultStream);
  return stream;
}

static void wait_for(void* stream) {
  use_context();
  CUDA_OK(wait, stream);
}

/* Memory may be allocated meanwhile. */
static void begin_capture(void* stream) {
  use_context();
  CUDA_OK(begin_capture, stream, kRelaxed);
}

static void* end_capture(void* stream) {
  void *graph = NULL, *ready = NULL;
  use_context();
  CUDA_OK(end_capture, stream, &graph);
  CUDA_OK(instantiate, &ready, graph, 0);
  CUDA_OK(drop_graph, graph);
  return ready;
}

static void launch(void* graph, void* stream) { CUDA_OK(launch, graph, stream); }
static void drop_graph(void* graph) { CUDA_OK(drop, graph); }

/* A real device behaves as it does. */
static void behave(int delay_us, int refuses_maps) { (void)delay_us, (void)refuses_maps; }

static int find_all(void* library) {
  const struct {
    void* function;
    const char* name;
  } all[] = {{&cuda.init, "cuInit"}, {&cuda.count, "cuDeviceGetCount"}, {&cuda.retain, "cuDevicePrimaryCtxRetain"},
             {&cuda.use, "cuCtxSetCurrent"}, {&cuda.alloc, "cuMemAlloc_v2"}, {&cuda.free, "cuMemFree_v2"}, {&cuda.copy, "cuMemcpy"},
             {&cuda.alloc_in_pool, "cuMemAllocAsync"}, {&cuda.free_in_pool, "cuMemFreeAsync"}, {&cuda.wait, "cuStreamSynchronize"},
             {&cuda.alloc_managed, "cuMemAllocManaged"}, {&cuda.granularity, "cuMemGetAllocationGranularity"},
             {&cuda.reserve, "cuMemAddressReserve"}, {&cuda.free_reserved, "cuMemAddressFree"}, {&cuda.create, "cuMemCreate"},
             {&cuda.release, "cuMemRelease"}, {&cuda.map, "cuMemMap"}, {&cuda.unmap, "cuMemUnmap"}, {&cuda.allow, "cuMemSetAccess"},
             {&cuda.open_stream, "cuStreamCreate"}, {&cuda.begin_capture, "cuStreamBeginCapture_v2"}, {&cuda.end_capture, "cuStreamEndCapture"},
             {&cuda.instantiate, "cuGraphInstantiateWithFlags"}, {&cuda.launch, "cuGraphLaunch"}, {&cuda.drop, "cuGraphExecDestroy"},
             {&cuda.drop_graph, "cuGraphDestroy"}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    *(void**)all[i].function = dlsym(library, all[i].name);
    if (*(void**)all[i].function == NULL) return 0;
  }
  return 1;
}

const Driver* cuda_driver(void* library, int rank) {
  static const Driver made = {take, give_back, copy, open_stream, wait_for, begin_capture, end_capture, launch, drop_graph, behave};
  int devices = 0;
  if (!find_all(library)) return NULL;
  CUDA_OK(init, 0);
  CUDA_OK(count, &devices);
  if (devices == 0) give_up("there are no devices");
  device = rank % devices;
  CUDA_OK(retain, &context, device);
  return &made;
}
