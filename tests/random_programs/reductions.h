/* MPI_Allreduce and MPI_Reduce_scatter_block combine these: an operation, MPI's or the program's own, and elements of one type. */
#pragma once

#include <mpi.h>

#include "areas.h"
#include "reduction_types.h"
#include "types.h"

/* This is an operation of the program's, on elements of which any bytes are values. */
typedef struct {
  const char* name;
  int commutes;
  MPI_User_function* combine;
} OwnOperation;

typedef struct {
  const TypeRow* row; /* It is set for MPI's operations. */
  int op;
  const OwnOperation* own; /* It is set for the program's operations. */
  Numbers numbers;
  Type element;
  MPI_Op handle; /* It is this rank's. */
} Reduction;

/* The text is OPERATION NUMBERS ELEMENT. Numbers are all, small, or rounding, whose results depend on the order. The element is a name in
 * reduction_types.h for MPI's operations, otherwise a type as types.h has it. Where `wanted`, the program's own operation and type are made for MPI,
 * too. */
Reduction read_reduction(Script* script, int wanted);
void free_op(Reduction* reduction);
/* Fills in the elements of the rank that fills with `key`, from the base on. */
void fill_elements(const Reduction* reduction, const Area* area, uint64_t key, int64_t count);

/* These are results: element `first` of all operands and those behind it, combined in the order of their keys. */
typedef struct {
  const uint64_t* keys;
  int operands;
  int64_t first, count;
} Results;
/* Puts them at the base of `should`. What elements have in their gaps, and what no number depends on, is as `found` has it. Where numbers round,
 * results are those of the order of the ranks, for communicators of which crossrail is asked for that, and with crossrail only. */
void expect_elements(const Reduction* reduction, const Results* results, const Area* found, const Area* should);
