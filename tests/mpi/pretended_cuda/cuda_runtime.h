/* This has as much of CUDA's runtime as the program of docs/several_processes.md calls, on a device that is made of host memory
 * (virtual_world/host_device.h). HOST_DEVICE is the path of its driver. */
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum { cudaSuccess, cudaErrorUnknown } cudaError_t;
typedef enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost } cudaMemcpyKind;

static inline void* pretended_driver(const char* function) {
  void* const driver = dlopen(getenv("HOST_DEVICE"), RTLD_NOW | RTLD_GLOBAL);
  return driver == NULL ? NULL : dlsym(driver, function);
}
static inline cudaError_t cudaSetDevice(int device) {
  return device >= 0 && pretended_driver("host_device_alloc") != NULL ? cudaSuccess : cudaErrorUnknown;
}
static inline cudaError_t cudaMalloc(void** memory, size_t bytes) {
  void* (*allocate)(size_t, int);
  *(void**)&allocate = pretended_driver("host_device_alloc");
  *memory = allocate(bytes, 0);
  return *memory != NULL ? cudaSuccess : cudaErrorUnknown;
}
static inline cudaError_t cudaFree(void* memory) {
  void (*release)(void*);
  *(void**)&release = pretended_driver("host_device_free");
  release(memory);
  return cudaSuccess;
}
static inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  void* (*touchable)(const void*);
  *(void**)&touchable = pretended_driver("host_device_touchable");
  memcpy(kind == cudaMemcpyHostToDevice ? touchable(to) : to, kind == cudaMemcpyDeviceToHost ? touchable(from) : from, bytes);
  return cudaSuccess;
}
