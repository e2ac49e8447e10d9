/* These are the communicators that programs make: dup, uneven, reversed, permuted, of one rank, merged, inter. */
#pragma once

#include <mpi.h>

enum { kMostComms = 12 };

typedef struct {
  MPI_Comm comm[kMostComms]; /* It is MPI_COMM_NULL where this rank is no member. */
  const char* name[kMostComms];
  int inter[kMostComms];
  int count;
} Comms;

/* The call is collective over the world; the result is the same on every rank. */
Comms make_comms(unsigned seed);
void free_comms(Comms* comms);
