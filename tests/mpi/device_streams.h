/* These are crossrail's calls in a stream's order, and the streams of a device that is made of host memory (virtual_world/host_device.h). */
#pragma once

#include <dlfcn.h>
#include <stdint.h>

#include "check.h"

#include "crossrail/device_module.h"

typedef int on_stream_function(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, void*);

typedef int vector_on_stream_function(const void*, const int[], const int[], MPI_Datatype, void*, const int[], const int[], MPI_Datatype, MPI_Comm,
                                      void*);

static on_stream_function* on_stream;
static vector_on_stream_function* vector_on_stream;
static void* (*device_alloc)(size_t, int);
static void (*device_free)(void*);
static void* (*open_stream)(void);
static void (*close_stream)(void*);
static void (*wait_for)(void*);
static void (*copy)(void*, const crossrail_block*);

static void open_driver(void) {
  void* driver = dlopen(getenv("HOST_DEVICE"), RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) fprintf(stderr, "%s\n", dlerror());
  device_alloc = (void* (*)(size_t, int))dlsym(driver, "host_device_alloc");
  device_free = (void (*)(void*))dlsym(driver, "host_device_free");
  open_stream = (void* (*)(void))dlsym(driver, "host_device_open_stream");
  close_stream = (void (*)(void*))dlsym(driver, "host_device_close_stream");
  wait_for = (void (*)(void*))dlsym(driver, "host_device_wait");
  copy = (void (*)(void*, const crossrail_block*))dlsym(driver, "host_device_copy");
  on_stream = (on_stream_function*)dlsym(RTLD_DEFAULT, "crossrail_alltoall_on_stream");
  vector_on_stream = (vector_on_stream_function*)dlsym(RTLD_DEFAULT, "crossrail_alltoallv_on_stream");
}

/* These are sides that calls refuse, and two that they take. */
typedef struct {
  int *send, *recv, *host;
  MPI_Datatype gaps;
} sides;

static sides open_sides(void) {
  const size_t bytes = sizeof(int) * (size_t)(2 * size_of_comm(MPI_COMM_WORLD));
  sides s = {device_alloc(bytes, 0), device_alloc(bytes, 0), malloc(bytes), MPI_DATATYPE_NULL};
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &s.gaps);
  MPI_Type_commit(&s.gaps);
  return s;
}

static void close_sides(sides* s) {
  wait_for(NULL);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Type_free(&s->gaps);
  device_free(s->send);
  device_free(s->recv);
  free(s->host);
}
