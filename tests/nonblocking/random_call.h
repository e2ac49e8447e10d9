/* One random exchange, nonblocking or persistent, and what the standard defines it to be. */
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
  int place; /* in the pool; of persistent ones */
  unsigned char* sent;
} RandomCall;

/* The communicator and all that ranks must agree on. False where this rank is no member. */
int choose_call(RandomCall* call, const Comms* comms, int largest, Random* common);
/* This rank's layouts, numbers and the right outcome; collective on the communicator. */
void prepare_call(RandomCall* call, Random* own);
void start_call(RandomCall* call, MPI_Request* request, Random* own);
/* The persistent request, and new numbers before each of its starts. */
void init_call(RandomCall* call, MPI_Request* request);
void refill_call(RandomCall* call, Random* own);
void check_call(RandomCall* call);
void free_call(RandomCall* call);
