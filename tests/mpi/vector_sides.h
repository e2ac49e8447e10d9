/* Random sides of MPI_Alltoallv and MPI_Alltoallw calls, and of MPI_Alltoall (plain),
 * that fit together between ranks. */
#pragma once

#include <mpi.h>
#include <stddef.h>

#include "random_numbers.h"
#include "random_types.h"

/* One block of a side, as one message. */
typedef struct {
  MPI_Datatype type;
  int count;
  ptrdiff_t place; /* bytes from the side's base */
  int granules;
} Part;

typedef struct {
  unsigned char* memory;
  size_t bytes;
  unsigned char* base; /* the address that MPI is given */
  Part* parts;
  Layout* layouts;     /* one, or one for every rank */
  int layout_count;
  MPI_Aint unit;       /* of v: bytes from granule to granule */
} VectorSide;

/* A call: what all ranks agree on, and this rank's own choices. */
typedef struct {
  int unit, granule, many_types, in_place, large, largest;
  char pattern; /* dense, sparse, zero rows, one large block, empty */
  int plain;    /* not with many_types: all blocks are of `largest` granules, one after the other */
  uint64_t seed;
  int inter, ranks;
  int on_device[2]; /* the send side, the receive side */
  int absolute; /* this rank's: MPI_BOTTOM and types that know addresses */
  VectorSide send, recv;
  unsigned char* expected;
  unsigned char* before;
} Sides;

/* What MPI is given. */
typedef struct {
  void* address;
  int* counts;
  int* places;
  MPI_Count* large_counts;
  MPI_Aint* large_places;
  MPI_Datatype* types;
  int made; /* types that are to be freed */
} Arguments;

void make_sides(Sides* sides, MPI_Comm comm, Random* own);
void free_sides(Sides* sides);
Arguments arguments_of(const VectorSide* side, const Sides* sides);
void free_arguments(Arguments* arguments);
unsigned char* copy_of(const unsigned char* memory, size_t bytes);
