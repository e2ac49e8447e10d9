/* Memory of all kinds for one side of a call, filled with numbers that every rank can compute for every other. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "device_memory.h"
#include "types.h"

/* Of a device: an allocation of its own, with guards and without, part of one, ...; the heap in a process without a driver. Behind the
 * kind stands, in hundreds, by how many bytes more such memory begins behind the allocation's beginning. */
enum { kHeap, kBeforeForbiddenPage, kShared, kReadOnly, kBehindForbiddenPage, kDevice, kWholeDevice, kPartOfDevice, kDeviceUnshareable,
       kDeviceManaged, kDeviceChunks };

typedef struct {
  unsigned char* memory; /* what is filled and compared: of a device's, a copy */
  size_t bytes;
  unsigned char* base;    /* in it */
  unsigned char* address; /* the base that MPI is given */
  int kind;
  void* mapped;
  size_t mapped_bytes;
  DeviceMemory device;
  unsigned char* on_device; /* where `memory` lies there */
} Area;

/* For bytes from `low` to `high` from the base, with guards where no forbidden page is. */
Area make_area(int kind, int64_t low, int64_t high);
void free_area(Area* area);
void fill_area(Area* area, uint64_t key);
/* After filling: what is only sent from cannot be written any more (kReadOnly). */
void seal_area(const Area* area, int sealed);
/* Between a device's memory and its copy. */
void to_device(const Area* area);
void from_device(const Area* area);
/* The byte at `position` from the base of any area filled with `key`. */
unsigned char byte_of(uint64_t key, int64_t position);
uint64_t mixed(uint64_t a, uint64_t b);
