/* Calls in the order of a stream (mode q of exchanges.h) come one behind the other in up to three streams, without waiting for any, until the step
 * `drain`, or all between `capture` and `launch` in a graph that is launched again and again. */
#pragma once

#include "exchanges.h"

typedef struct {
  int (*alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, void*);
  int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, void*);
  int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, void*);
  int (*reduce_scatter_block)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, void*);
  int (*alltoallv)(const void*, const int[], const int[], MPI_Datatype, void*, const int[], const int[], MPI_Datatype, MPI_Comm, void*);
} StreamCalls;

/* Returns crossrail's calls, and NULL without crossrail. */
const StreamCalls* stream_calls(void);
/* Stream 0 is the default one. Without a driver it is NULL, too. */
void* stream_of(int number);
/* Keeps a call of mode q that has been made. It is checked, and freed, once the streams are drained. */
void keep_queued(Exchange* exchange);
/* All ranks make no graphs where one has no driver: graphs would leave calls out that it makes again, those of no data. */
void make_no_graphs(void);
/* These are the steps `drain`; `capture STREAM`; and `launch TIMES`, after which the calls since `capture` have ended. */
void drain_streams(void);
void capture_step(Script* script);
void launch_step(Script* script);
