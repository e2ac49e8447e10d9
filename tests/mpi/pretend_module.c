/* The device module of pretend_driver.c. It can do no more than copy: all goes through host memory. */
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

static const char* copy_rows(const crossrail_rows* rows, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t row = 0; row < rows[i].count; ++row) copy((char*)rows[i].to + row * rows[i].pitch, (const char*)rows[i].from + row * rows[i].pitch, rows[i].bytes);
  }
  return NULL;
}

const crossrail_device_module* crossrail_device_module_v12(void);
const crossrail_device_module* crossrail_device_module_v12(void) {
  static const crossrail_device_module module = {
      .version = CROSSRAIL_DEVICE_MODULE_VERSION, .name = "pretend", .classify = classify, .copy = copy, .copy_rows = copy_rows};
  return &module;
}
