/* One call of MPI_Alltoall, v or w, MPI_Allgather or v, MPI_Allreduce, MPI_Reduce_scatter or its _block, MPI_Gather or v, MPI_Scatter or v:
 * blocking, nonblocking or persistent; and what it must bring. */
#pragma once

#include <string.h>

#include "areas.h"
#include "reductions.h"
#include "teams.h"
#include "types.h"

/* As MPI is given it, of one rank. */
typedef struct {
  char form; /* a, v or w */
  int blocks;
  Type* types; /* one; of w one a block */
  int64_t *counts, *places;
} Side;

/* Lists: the counts and places of a side lie in device memory. */
enum { kAbsoluteOut = 1, kAbsoluteIn = 2, kTypesFreedEarly = 4, kNullWhenEmpty = 8, kListsOut = 16, kListsIn = 32 };

typedef struct {
  int number, in_place, large, flags, starts;
  int written_between; /* since it was filled */
  char form; /* a, v, w: alltoalls; g, h: allgather, v; r: allreduce; s, t: reduce_scatter_block, reduce_scatter; G, H: gather, v; S, T: scatter, v */
  char mode; /* b, n, p; q: in the order of a stream, where crossrail is there and does not refuse it, otherwise as b */
  int stream; /* q: its number */
  int enqueued; /* q: not refused */
  uint64_t seed;
  const Team* team;
  MPI_Comm comm; /* of when it was made: the team may be freed before */
  int index;         /* of this rank among those that send to its peers */
  int root;          /* of the world; of G, H, S and T */
  int peers[kMostRanks], blocks; /* from whom this rank receives; otherwise all of them */
  Side out, in;      /* this rank's; without types where it has none */
  Side sent[kMostRanks]; /* the peers'; not of reductions, where it is as long as this rank's */
  Reduction reduction;
  int64_t lengths[kMostRanks]; /* t: elements of each block */
  int ints[kMostRanks];        /* as MPI is given them */
  MPI_Count larges[kMostRanks];
  Area from, to;
  /* Of the send and the receive side: the types that MPI is given, how many of them were made for the call, and the arrays. */
  MPI_Datatype* given[2];
  int own_types[2];
  void* arguments[2];
  DeviceMemory lists[2];
} Exchange;

/* Reads the step's line and those of the members after it; NULL where this rank is no member. */
Exchange* read_exchange(Script* script, uint64_t seed);
void free_exchange(Exchange* exchange);
static inline int reduces(const Exchange* exchange) { return strchr("rst", exchange->form) != NULL; }
static inline int is_rooted(const Exchange* exchange) { return strchr("GHST", exchange->form) != NULL; }
/* Fresh numbers for the next start. */
void refill(Exchange* exchange);
/* Calls MPI; a blocking call has ended then. Returns MPI's code. */
int call_mpi(Exchange* exchange, MPI_Request* request);
/* The same call of mode q once more. */
int call_again(Exchange* exchange);
void check_exchange(Exchange* exchange);
/* Of every other exchange that is pending: the program writes what lies between what it receives. */
void write_between(Exchange* exchange);
void change_between(const Exchange* exchange, const Area* area);
/* And the operation. */
void free_types_early(Exchange* exchange);
void free_arguments_of(Exchange* exchange);
/* Where block `i` lies, in bytes from the base. */
int64_t place_of(const Side* side, int i);
int64_t count_of(const Side* side, int i);
const Type* type_of(const Side* side, int i);
