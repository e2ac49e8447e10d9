/* These are datatypes from their description, for MPI and, beside it, as a list of bytes: what they mean is not asked of MPI. */
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "script.h"

typedef struct {
  int64_t offset, bytes;
} Run;

/* The runs are in the order in which a message has them. */
typedef struct {
  Run* run;
  size_t count, room;
} Runs;

typedef struct {
  MPI_Datatype made; /* It is MPI_DATATYPE_NULL where it was not wanted. */
  int predefined;
  int64_t lower, upper;
  Runs runs;
} Type;

/* With `wanted`, MPI has the type, too, committed. Otherwise there is the list of bytes only, for types that other ranks have. */
Type read_type(Script* script, int wanted);
void free_type(Type* type);
/* Frees MPI's part only. */
void free_made(Type* type);
void add_run(Runs* runs, int64_t offset, int64_t bytes);
static inline int64_t extent_of(const Type* type) { return type->upper - type->lower; }
