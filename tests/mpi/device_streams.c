/* crossrail_alltoall_on_stream among processes, on a device that is made of host memory
 * (virtual_world/host_device.h): in order with the stream's other work, on the default stream too, and refusals
 * on all ranks alike. HOST_DEVICE is the path of the driver.
 *
 *   device_streams CALLS */
#include <dlfcn.h>
#include <stdint.h>

#include "check.h"

#include "crossrail/device_module.h"

typedef int on_stream_function(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, void*);

static on_stream_function* on_stream;
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
}

/* Rounds of other data through the same device memory, with nobody waiting between them. */
static void rounds(int count, int calls, void* stream) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  const size_t all = (size_t)(size * count), bytes = sizeof(int) * all;
  int *send = device_alloc(bytes, 0), *recv = device_alloc(bytes, 0);
  int *filled = malloc(bytes * (size_t)calls), *got = malloc(bytes * (size_t)calls);
  for (int call = 0; call < calls; ++call) {
    int *from = filled + (size_t)call * all, *to = got + (size_t)call * all;
    for (int at = 0; at < size * count; ++at) from[at] = number(rank, at / count, at % count + call);
    const crossrail_block in = {send, from, bytes}, out = {to, recv, bytes};
    copy(stream, &in);
    CHECK(on_stream(send, count, MPI_INT, recv, count, MPI_INT, MPI_COMM_WORLD, stream) == MPI_SUCCESS, "call %d of %d ints refused", call, count);
    copy(stream, &out);
  }
  wait_for(stream);
  int wrong = 0;
  for (int call = 0; call < calls; ++call) {
    for (int at = 0; at < size * count; ++at) wrong += got[(size_t)call * all + (size_t)at] != number(at / count, rank, at % count + call);
  }
  CHECK(wrong == 0, "%d wrong of blocks of %d ints", wrong, count);
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  device_free(send);
  device_free(recv);
  free(filled);
  free(got);
}

static void refusals(void) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD);
  const size_t bytes = sizeof(int) * (size_t)(2 * size);
  int *send = device_alloc(bytes, 0), *recv = device_alloc(bytes, 0), *host = malloc(bytes);
  MPI_Datatype gaps;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
  MPI_Type_commit(&gaps);
  CHECK(on_stream(rank == 0 ? host : send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, NULL) != MPI_SUCCESS, "host memory is not refused");
  CHECK(on_stream(send, 1, rank == 1 ? gaps : MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, NULL) != MPI_SUCCESS, "gaps are not refused");
  CHECK(on_stream(send, 1, MPI_INT, recv, 1, gaps, MPI_COMM_WORLD, NULL) != MPI_SUCCESS, "gaps are not refused");
  CHECK(on_stream(MPI_IN_PLACE, 0, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD, NULL) != MPI_SUCCESS, "in place is not refused");
  MPI_OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Type_free(&gaps);
  device_free(send);
  device_free(recv);
  free(host);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? atoi(argv[1]) : 10;
  open_driver();
  CHECK(on_stream != NULL, "there is no crossrail_alltoall_on_stream");
  if (on_stream == NULL) return verdict();
  void* stream = open_stream();
  const int counts[] = {1, 7, 1023, 1024, 20000};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    rounds(counts[i], calls, stream);
    rounds(counts[i], calls, NULL);
    refusals();
  }
  close_stream(stream);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
