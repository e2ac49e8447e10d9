/* This is memory of a device that is made of host memory (virtual_world/host_device.h). No processor can touch it except by another address. */
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static void* (*device_alloc)(size_t bytes, int kind);
static void (*device_free)(void* memory);
static void* (*touchable)(const void* memory); /* It returns the address by which this process may touch it. */

/* HOST_DEVICE is the path of the driver. */
static void open_driver(void) {
  void* driver = dlopen(getenv("HOST_DEVICE"), RTLD_NOW | RTLD_GLOBAL);
  if (driver == NULL) fprintf(stderr, "%s\n", dlerror());
  device_alloc = (void* (*)(size_t, int))dlsym(driver, "host_device_alloc");
  device_free = (void (*)(void*))dlsym(driver, "host_device_free");
  touchable = (void* (*)(const void*))dlsym(driver, "host_device_touchable");
}
