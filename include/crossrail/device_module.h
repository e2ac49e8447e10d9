/* The plug-in table of a device module (libcrossrail_cuda.so, ...). C99.
 *
 * A module is loaded only into processes that have already loaded the vendor's driver. A null entry
 * means "not supported". Functions return 0 on success, else a text that says what went wrong,
 * valid until the thread's next call (they never throw, never exit, never synchronise a device). */
#ifndef CROSSRAIL_DEVICE_MODULE_H
#define CROSSRAIL_DEVICE_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CROSSRAIL_DEVICE_MODULE_VERSION 1

typedef enum crossrail_memory_kind {
  CROSSRAIL_MEMORY_HOST = 0,    /* also host memory that the driver knows (pinned, registered) */
  CROSSRAIL_MEMORY_DEVICE = 1,  /* the processor cannot touch it */
  CROSSRAIL_MEMORY_MANAGED = 2  /* migrates; the processor may touch it */
} crossrail_memory_kind;

typedef struct crossrail_device_module {
  int version;      /* CROSSRAIL_DEVICE_MODULE_VERSION */
  const char *name; /* "cuda" */
  /* What memory `pointer` points to. Never fails: memory the driver does not know is host memory. */
  crossrail_memory_kind (*classify)(const void *pointer);
  /* Copies `bytes` between memory of any kind; returns when the bytes have arrived. */
  const char *(*copy)(void *to, const void *from, size_t bytes);
} crossrail_device_module;

/* The one symbol of a module. */
typedef const crossrail_device_module *(*crossrail_device_module_entry)(void);
#define CROSSRAIL_DEVICE_MODULE_ENTRY "crossrail_device_module_v1"

#ifdef __cplusplus
}
#endif
#endif
