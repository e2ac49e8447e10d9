/* These are random sides of MPI_Alltoallv and MPI_Alltoallw calls, and of MPI_Alltoall (plain), that fit together between ranks. */
#pragma once

#include <mpi.h>
#include <stddef.h>

#include "random_numbers.h"
#include "random_types.h"

/* This is one block of a side, as one message. */
typedef struct {
  MPI_Datatype type;
  int count;
  ptrdiff_t place; /* It is in bytes from the side's base. */
  int granules;
} Part;

typedef struct {
  unsigned char* memory;
  size_t bytes;
  unsigned char* base; /* MPI is given this address. */
  Part* parts;
  Layout* layouts;     /* There is one, or one for every rank. */
  int layout_count;
  MPI_Aint unit;       /* In v it is the bytes from granule to granule. */
} VectorSide;

/* A call has what all ranks agree on, and this rank's own choices. */
typedef struct {
  int unit, granule, many_types, in_place, large, largest;
  char pattern; /* It is dense, sparse, zero rows, one large block, or empty. */
  int plain;    /* It excludes many_types: all blocks are of `largest` granules, one after the other. */
  uint64_t seed;
  int inter, ranks;
  int on_device[2]; /* They are for the send side and the receive side. */
  int absolute; /* This rank uses MPI_BOTTOM and types that know addresses. */
  VectorSide send, recv;
  unsigned char* expected;
  unsigned char* before;
} Sides;

/* MPI is given these. */
typedef struct {
  void* address;
  int* counts;
  int* places;
  MPI_Count* large_counts;
  MPI_Aint* large_places;
  MPI_Datatype* types;
  int made; /* So many types must be freed. */
} Arguments;

void make_sides(Sides* sides, MPI_Comm comm, Random* own);
void free_sides(Sides* sides);
Arguments arguments_of(const VectorSide* side, const Sides* sides);
void free_arguments(Arguments* arguments);
unsigned char* copy_of(const unsigned char* memory, size_t bytes);
