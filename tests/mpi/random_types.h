/* This makes random layouts of a given type signature. */
#pragma once

#include <mpi.h>

#include "random_numbers.h"

enum { kUnits = 24 };

/* A layout is `count` elements of `type`. */
typedef struct {
  MPI_Datatype type;
  int count;
  int predefined; /* It must not be freed. */
  char text[160]; /* It says how the type was made. */
} Layout;

/* Makes a layout whose signature is `elements` times unit `unit` (0 to kUnits - 1). Two layouts of equal (unit, elements) have equal signatures,
 * however different they are. With `may_overlap` the layout is only sent from, and may name the same memory twice. */
Layout random_layout(Random* random, int unit, int elements, int may_overlap);
int has_long_double(int unit);
int has_gaps(int unit);  /* They lie between the parts of an element that has several. */
void free_layout(Layout* layout);

/* Finds bytes from the address given to MPI: the lowest that `blocks` blocks touch, and one past the last. */
void reach(const Layout* layout, int blocks, MPI_Aint* lowest, MPI_Aint* end);
