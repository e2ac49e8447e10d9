/* This is memory of all kinds for one side of a call, filled with numbers that every rank can compute for every other. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "device_memory.h"
#include "types.h"

/* A device has several kinds: an allocation of its own, with guards and without, part of one, ...; in a process without a driver it is the heap.
 * Behind the kind stands, in hundreds, by how many bytes more such memory begins behind the allocation's beginning. */
enum { kHeap, kBeforeForbiddenPage, kShared, kReadOnly, kBehindForbiddenPage, kDevice, kWholeDevice, kPartOfDevice, kDeviceUnshareable,
       kDeviceManaged, kDeviceChunks };

typedef struct {
  unsigned char* memory; /* It is filled and compared; for a device it is a copy. */
  size_t bytes;
  unsigned char* base;    /* It is in `memory`. */
  unsigned char* address; /* MPI is given this base. */
  int kind;
  void* mapped;
  size_t mapped_bytes;
  DeviceMemory device;
  unsigned char* on_device; /* `memory` lies here on the device. */
} Area;

/* Makes bytes from `low` to `high` from the base, with guards where no forbidden page is. */
Area make_area(int kind, int64_t low, int64_t high);
void free_area(Area* area);
void fill_area(Area* area, uint64_t key);
/* This comes after filling: what is only sent from cannot be written any more (kReadOnly). */
void seal_area(const Area* area, int sealed);
/* These copy between a device's memory and its copy. */
void to_device(const Area* area);
void from_device(const Area* area);
/* Returns the byte at `position` from the base of any area filled with `key`. */
unsigned char byte_of(uint64_t key, int64_t position);
uint64_t mixed(uint64_t a, uint64_t b);
