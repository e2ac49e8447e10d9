/* What device modules (device_module.h) and those who call them know of memory. C99. */
#ifndef CROSSRAIL_DEVICE_MEMORY_H
#define CROSSRAIL_DEVICE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

typedef enum crossrail_memory_kind {
  CROSSRAIL_MEMORY_HOST = 0,    /* also host memory that the driver knows (pinned, registered) */
  CROSSRAIL_MEMORY_DEVICE = 1,  /* the processor cannot touch it */
  CROSSRAIL_MEMORY_MANAGED = 2  /* migrates; the processor may touch it */
} crossrail_memory_kind;

/* What the driver knows of memory. */
typedef struct crossrail_memory {
  crossrail_memory_kind kind;
  int shareable;       /* 1: export_memory can work */
  int device;          /* ordinal in this process; -1 for host memory */
  void *context;       /* the driver's, to which the memory belongs; NULL: any of the device */
  uint64_t allocation; /* id; memory freed earlier in this process never had it, even at the same address */
  void *base;          /* of what export_memory would share, which holds the whole range asked about; else of the
                          allocation in which the range begins, or its beginning itself */
  size_t bytes;        /* of the same; 0: nobody knows */
  uint64_t generation; /* of the context: another one may have been at its address before */
} crossrail_memory;

/* How another process of the node maps memory: plain bytes, and file descriptors beside them. */
typedef struct crossrail_handle {
  uint32_t kind;        /* the module's own */
  uint32_t chunk_count; /* descriptors that belong to it, at most CROSSRAIL_MOST_CHUNKS */
  uint64_t bytes;
  unsigned char content[112]; /* the module's own */
} crossrail_handle;

#define CROSSRAIL_MOST_CHUNKS 1024
typedef struct crossrail_chunk {
  uint64_t bytes;
  int32_t descriptor;
  int32_t unused;
} crossrail_chunk;

#endif
