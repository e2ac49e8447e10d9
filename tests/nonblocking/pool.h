/* Requests of all kinds lie in one array and are completed in a random order by all the ways that MPI has. Null and inactive requests lie among them.
 * */
#pragma once

#include <mpi.h>

#include "random_numbers.h"

enum { kMostRequests = 512, kMostAtOnce = 64 };

typedef struct {
  MPI_Request requests[kMostRequests];
  void* owners[kMostRequests]; /* NULL is a null or inactive request. */
  void (*ended[kMostRequests])(void* owner, MPI_Request* request, const MPI_Status* status);
  int persistent[kMostRequests];
  int count, active;
  int avoids_inactive;  /* The MPI library cannot complete among inactive persistent exchanges (host.h). */
  int avoids_test_all;
  Random* random;
} Pool;

/* Returns a free place, for a request that is about to be started: its request is at pool->requests[place]. */
int add_request(Pool* pool, void* owner, void (*ended)(void*, MPI_Request*, const MPI_Status*));
/* Makes one call, which may wait, for some requests, and tells the owners of those that have ended. */
void complete_some(Pool* pool);
/* Completes requests until the one at `place` has ended. */
void complete_one(Pool* pool, int place);
void complete_all(Pool* pool);
