/* This is the device module of pretend_driver.c. It can only copy, so everything goes through host memory. */
#include <string.h>

#include "crossrail/device_module.h"
#include "pretend_driver.h"

/* Nobody knows where a piece of its memory ends. */
static void describe(const void* pointer, size_t bytes, crossrail_memory* memory) {
  (void)bytes;
  const int held = pretend_holds(pointer);
  *memory = (crossrail_memory){.kind = held ? CROSSRAIL_MEMORY_DEVICE : CROSSRAIL_MEMORY_HOST, .device = held ? 0 : -1};
}

static const char* copy(const crossrail_rows* rows, size_t count) {
  pretend_open(1);
  for (size_t i = 0; i < count; ++i) {
    for (size_t row = 0; row < rows[i].count; ++row) memcpy((char*)rows[i].to + row * rows[i].pitch, (const char*)rows[i].from + row * rows[i].pitch, rows[i].bytes);
  }
  pretend_open(0);
  return NULL;
}

const crossrail_device_module* crossrail_device_module_table(void);
const crossrail_device_module* crossrail_device_module_table(void) {
  static const crossrail_device_module module = {
      .size = sizeof module, .name = "pretend", .describe = describe, .copy = copy};
  return &module;
}
