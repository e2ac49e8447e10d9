/* Memory of all kinds for one side of a call, filled with numbers that every rank can compute for every other. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "types.h"

enum { kHeap, kBeforeForbiddenPage, kShared, kReadOnly, kBehindForbiddenPage, kMemoryKinds };

typedef struct {
  unsigned char* memory; /* what is filled and compared */
  size_t bytes;
  unsigned char* base; /* the address that MPI is given */
  int kind;
  void* mapped;
  size_t mapped_bytes;
} Area;

/* For bytes from `low` to `high` from the base, with guards where no forbidden page is. */
Area make_area(int kind, int64_t low, int64_t high);
void free_area(Area* area);
void fill_area(Area* area, uint64_t key);
/* After filling: what is only sent from cannot be written any more (kReadOnly). */
void seal_area(const Area* area, int sealed);
/* The byte at `position` from the base of any area filled with `key`. */
unsigned char byte_of(uint64_t key, int64_t position);
uint64_t mixed(uint64_t a, uint64_t b);
