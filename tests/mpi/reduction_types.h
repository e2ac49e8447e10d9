/* These are MPI's operations, and the types for which the standard defines them. */
#pragma once

#include <mpi.h>
#include <stddef.h>

#include "random_numbers.h"

enum { kSum, kProduct, kMinimum, kMaximum, kAnd, kOr, kXor, kBitAnd, kBitOr, kBitXor, kMinimumPlace, kMaximumPlace, kOps };
extern const char* const op_names[kOps];
MPI_Op op_of(int op);

typedef enum { kInteger, kFortranInteger, kByte, kReal, kComplex, kLogical, kPair } Kind;

typedef struct {
  const char* name;
  MPI_Datatype (*type)(void);
  Kind kind;
  int bytes;  /* It is as MPI_Type_size says; types that are longer or shorter here are not tried. */
  int value;  /* These are the bytes of a pair's value, or of a complex number's part. */
  int whole;  /* A pair's value is an integer; an integer has no sign. */
  int place;  /* A pair's second number lies here; it is as long as its first in Fortran, an int in C. */
  int second; /* These are its bytes, negative if it is a floating-point number. */
  int there;      /* This MPI has it, of so many bytes. */
  int tame[kOps]; /* This MPI itself combines it wrongly, unless numbers are small (MPICH 4.0 and Open MPI 4.1 compare unsigned numbers as signed
                   * ones, Open MPI 5.0 adds short ones up to the largest and no further). */
} TypeRow;
extern TypeRow type_rows[];
extern const int type_row_count;

int defined_for(const TypeRow* row, int op);
/* Elements are filled with these numbers. kAll is whatever does not round; kRounding is floating numbers whose sums depend on the order; kTame is
 * small whole numbers. */
typedef enum { kAll, kRounding, kTame } Numbers;
void fill_element(const TypeRow* row, void* at, Random* random, Numbers numbers);
/* Computes the definition: `second` becomes `first` op `second`. Gaps are left alone. */
void combine_element(const TypeRow* row, int op, const void* first, void* second);
/* Clears the bytes that no number depends on. */
void forget_padding(const TypeRow* row, void* element);
/* Sets `there` and `tame`. */
void look_at_types(int speak);
