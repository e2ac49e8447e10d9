/* This is one call of MPI_Alltoall, v or w, MPI_Allgather or v, MPI_Allreduce, MPI_Reduce_scatter or its _block, MPI_Gather or v, MPI_Scatter or v:
 * blocking, nonblocking or persistent; and what it must bring. */
#pragma once

#include <string.h>

#include "areas.h"
#include "reductions.h"
#include "teams.h"
#include "types.h"

/* This is a side as MPI is given it, of one rank. */
typedef struct {
  char form; /* It is a, v or w. */
  int blocks;
  Type* types; /* There is one; in w a block has one. */
  int64_t *counts, *places;
} Side;

/* With lists, the counts and places of a side lie in device memory. */
enum { kAbsoluteOut = 1, kAbsoluteIn = 2, kTypesFreedEarly = 4, kNullWhenEmpty = 8, kListsOut = 16, kListsIn = 32 };

typedef struct {
  int number, in_place, large, flags, starts;
  int written_between; /* It was written since it was filled. */
  /* The form is a, v or w for alltoalls; g or h for allgather, v; r for allreduce; s or t for reduce_scatter_block, reduce_scatter; G or H for
   * gather, v; S or T for scatter, v. */
  char form;
  char mode; /* It is b, n, p, or q: in the order of a stream, where crossrail is there and does not refuse it, otherwise as b. */
  int stream; /* It is the stream's number in mode q. */
  int enqueued; /* In mode q it was not refused. */
  uint64_t seed;
  const Team* team;
  MPI_Comm comm; /* It is as when it was made: the team may be freed before. */
  int index;         /* It is this rank's among those that send to its peers. */
  int root;          /* It is a rank of the world, for G, H, S and T. */
  int peers[kMostRanks], blocks; /* This rank receives from these, otherwise from all of them. */
  Side out, in;      /* They are this rank's, without types where it has none. */
  Side sent[kMostRanks]; /* They are the peers'; reductions have none, where it is as long as this rank's. */
  Reduction reduction;
  int64_t lengths[kMostRanks]; /* In t they are the elements of each block. */
  int ints[kMostRanks];        /* MPI is given these. */
  MPI_Count larges[kMostRanks];
  Area from, to;
  /* For the send and the receive side these are the types that MPI is given, how many of them were made for the call, and the arrays. */
  MPI_Datatype* given[2];
  int own_types[2];
  void* arguments[2];
  DeviceMemory lists[2];
} Exchange;

/* Reads the step's line and those of the members after it. Returns NULL where this rank is no member. */
Exchange* read_exchange(Script* script, uint64_t seed);
void free_exchange(Exchange* exchange);
static inline int reduces(const Exchange* exchange) { return strchr("rst", exchange->form) != NULL; }
static inline int is_rooted(const Exchange* exchange) { return strchr("GHST", exchange->form) != NULL; }
/* Fills in fresh numbers for the next start. */
void refill(Exchange* exchange);
/* Calls MPI; a blocking call has ended then. Returns MPI's code. */
int call_mpi(Exchange* exchange, MPI_Request* request);
/* Makes the same call of mode q once more. */
int call_again(Exchange* exchange);
void check_exchange(Exchange* exchange);
/* For every other exchange that is pending, the program writes what lies between what it receives. */
void write_between(Exchange* exchange);
void change_between(const Exchange* exchange, const Area* area);
/* It frees the operation, too. */
void free_types_early(Exchange* exchange);
void free_arguments_of(Exchange* exchange);
/* Returns where block `i` lies, in bytes from the base. */
int64_t place_of(const Side* side, int i);
int64_t count_of(const Side* side, int i);
const Type* type_of(const Side* side, int i);
