/* The device module of pretend_driver.c. */
#include <string.h>

#include "crossrail/device_module.h"
#include "pretend_driver.h"

static crossrail_memory_kind classify(const void* pointer) {
  return pretend_holds(pointer) ? CROSSRAIL_MEMORY_DEVICE : CROSSRAIL_MEMORY_HOST;
}

static const char* copy(void* to, const void* from, size_t bytes) {
  pretend_open(1);
  memcpy(to, from, bytes);
  pretend_open(0);
  return NULL;
}

const crossrail_device_module* crossrail_device_module_v1(void);
const crossrail_device_module* crossrail_device_module_v1(void) {
  static const crossrail_device_module module = {CROSSRAIL_DEVICE_MODULE_VERSION, "pretend", classify, copy};
  return &module;
}
