/* This is one random exchange, nonblocking or persistent, and what the standard defines it to be. */
#pragma once

#include <mpi.h>

#include "random_comms.h"
#include "random_numbers.h"
#include "vector_sides.h"

typedef struct {
  Sides sides;
  Arguments out, in;
  MPI_Comm comm;
  const char* comm_name;
  int index;
  int place; /* A persistent call has this place in the pool. */
  unsigned char* sent;
} RandomCall;

/* Chooses the communicator and all that ranks must agree on. Returns false where this rank is no member. */
int choose_call(RandomCall* call, const Comms* comms, int largest, Random* common);
/* Sets this rank's layouts, numbers and the right outcome. It is collective on the communicator. */
void prepare_call(RandomCall* call, Random* own);
void start_call(RandomCall* call, MPI_Request* request, Random* own);
/* Makes the persistent request, and new numbers before each of its starts. */
void init_call(RandomCall* call, MPI_Request* request);
void refill_call(RandomCall* call, Random* own);
void check_call(RandomCall* call);
void free_call(RandomCall* call);
