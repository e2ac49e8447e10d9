/* Buffers of collectives have guards around them, and a test may move them to the memory of the pretended driver. Their ends are compared byte by
 * byte. PRETEND_DRIVER is the path of that driver. */
#ifndef GUARDED_AREAS_H
#define GUARDED_AREAS_H

#include "check.h"

#include <dlfcn.h>

#include "random_numbers.h"
#include "random_types.h"

enum { kGuardBytes = 256 };

/* This is memory of some blocks of a layout with guards around it. */
typedef struct {
  unsigned char* start;
  size_t bytes;
  unsigned char* base; /* MPI is given this address. */
} Area;

static inline Area make_area(const Layout* layout, int blocks, Random* random) {
  MPI_Aint lowest, end;
  reach(layout, blocks, &lowest, &end);
  if (lowest > 0) lowest = 0;
  if (end < 0) end = 0;
  Area area = {.bytes = (size_t)(end - lowest) + 2 * kGuardBytes};
  area.start = malloc(area.bytes);
  area.base = area.start + kGuardBytes + ((15 - lowest) & ~(MPI_Aint)15);
  while (area.base + end > area.start + area.bytes) area.base -= 16;
  for (size_t i = 0; i < area.bytes; ++i) area.start[i] = (unsigned char)(random_word(random) >> 40);
  return area;
}

static inline Area copy_area(const Area* area) {
  Area copy = *area;
  copy.start = malloc(area->bytes + 1);
  copy.base = copy.start + (area->base - area->start);
  if (area->bytes > 0) memcpy(copy.start, area->start, area->bytes);
  return copy;
}

static inline MPI_Aint extent_of(const Layout* layout) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(layout->type, &lower, &extent);
  return extent * layout->count;
}

static inline int finish(MPI_Request* request, int persistent) {
  if (persistent) MPI_OK(MPI_Start(request));
  const int code = MPI_Wait(request, MPI_STATUS_IGNORE);
  if (persistent) MPI_OK(MPI_Request_free(request));
  return code;
}

static void* (*device_alloc)(size_t);
static void (*device_free)(void*);
static void (*device_open)(int);

static inline void load_driver(void) {
  const char* path = getenv("PRETEND_DRIVER");
  void* driver = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) return;
  device_alloc = (void* (*)(size_t))dlsym(driver, "pretend_alloc");
  device_free = (void (*)(void*))dlsym(driver, "pretend_free");
  device_open = (void (*)(int))dlsym(driver, "pretend_open");
}

/* Moves the area between host memory and the driver's, which then is where the area lies. Returns where it lay before. */
static inline Area move_area(Area* area, unsigned char* to) {
  const Area before = *area;
  device_open(1);
  memcpy(to, area->start, area->bytes);
  device_open(0);
  area->start = to;
  area->base = to + (before.base - before.start);
  return before;
}

/* Moves some of a call's sides, where there is the driver. `host` is where they lay before. */
static inline void move_some(Area* const sides[2], Area host[2], Random* own) {
  for (int i = 0; i < 2 && device_alloc != NULL; ++i) {
    if (sides[i]->start != NULL && random_below(own, 2)) host[i] = move_area(sides[i], device_alloc(sides[i]->bytes));
  }
}

static inline void move_back(Area* const sides[2], const Area host[2]) {
  for (int i = 0; i < 2; ++i) {
    if (host[i].start != NULL) device_free(move_area(sides[i], host[i].start).start);
  }
}

#endif
