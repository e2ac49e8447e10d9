#include "pool.h"

#include "check.h"

/* These are the requests that one call is given. */
typedef struct {
  int count, active;
  int places[kMostAtOnce], indices[kMostAtOnce];
  MPI_Request requests[kMostAtOnce];
  MPI_Status statuses[kMostAtOnce];
} Some;

int add_request(Pool* pool, void* owner, void (*ended)(void*, MPI_Request*, const MPI_Status*)) {
  int place = 0;
  while (place < pool->count && (pool->owners[place] != NULL || pool->requests[place] != MPI_REQUEST_NULL)) ++place;
  if (place == pool->count && pool->count < kMostRequests) ++pool->count;
  if (place >= pool->count) MPI_Abort(MPI_COMM_WORLD, 9);
  pool->requests[place] = MPI_REQUEST_NULL;
  pool->persistent[place] = 0;
  pool->owners[place] = owner;
  pool->ended[place] = ended;
  ++pool->active;
  return place;
}

static Some choose(Pool* pool, int at_least_one_active) {
  Some some = {.count = 0, .active = 0};
  const int most = 1 + random_below(pool->random, random_below(pool->random, 3) == 0 ? kMostAtOnce : 6);
  const int first = random_below(pool->random, pool->count);
  for (int i = 0; i < pool->count && some.count < most; ++i) {
    const int place = (first + i) % pool->count, active = pool->owners[place] != NULL;
    if (i > 0 && random_below(pool->random, 3) == 0) continue;
    if (!active && at_least_one_active && some.count == most - 1 && some.active == 0) continue;
    if (!active && pool->persistent[place] && pool->avoids_inactive) continue;
    some.active += active;
    some.places[some.count] = place;
    some.requests[some.count++] = pool->requests[place];
  }
  return some;
}

static void tell(Pool* pool, const Some* some, int index, const MPI_Status* status) {
  const int place = some->places[index];
  void* const owner = pool->owners[place];
  if (owner == NULL) {
    int bytes = -1;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    CHECK(bytes == 0 && status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG,
          "the status of a null or inactive request is not empty");
    return;
  }
  CHECK((pool->requests[place] == MPI_REQUEST_NULL) == !pool->persistent[place], "a request that has ended is %s",
        pool->persistent[place] ? "null" : "not null");
  pool->owners[place] = NULL;
  --pool->active;
  pool->ended[place](owner, &pool->requests[place], status);
}

static void write_back(Pool* pool, const Some* some) {
  for (int i = 0; i < some->count; ++i) pool->requests[some->places[i]] = some->requests[i];
}

static void tell_all(Pool* pool, const Some* some) {
  write_back(pool, some);
  for (int i = 0; i < some->count; ++i) tell(pool, some, i, &some->statuses[i]);
}

static void tell_any(Pool* pool, const Some* some, int index) {
  write_back(pool, some);
  CHECK((index == MPI_UNDEFINED) == (some->active == 0), "index %d, with %d active", index, some->active);
  if (index == MPI_UNDEFINED) return;
  CHECK(pool->owners[some->places[index]] != NULL, "ended again: index %d", index);
  if (pool->owners[some->places[index]] != NULL) tell(pool, some, index, &some->statuses[0]);
}

static void tell_some(Pool* pool, const Some* some, int ended) {
  write_back(pool, some);
  CHECK((ended == MPI_UNDEFINED) == (some->active == 0), "%d ended, with %d active", ended, some->active);
  for (int i = 0; ended != MPI_UNDEFINED && i < ended; ++i) {
    CHECK(pool->owners[some->places[some->indices[i]]] != NULL, "ended again: index %d", some->indices[i]);
    if (pool->owners[some->places[some->indices[i]]] != NULL) tell(pool, some, some->indices[i], &some->statuses[i]);
  }
}

/* Completes the first of some, by calls for one request. */
static void complete_single(Pool* pool, Some* some, int way) {
  int done = 1;
  some->count = 1;
  if (way == 2) {
    MPI_OK(MPI_Request_get_status(some->requests[0], &done, &some->statuses[0]));
    const int looked = done;
    if (random_below(pool->random, 2)) {
      MPI_OK(MPI_Wait(&some->requests[0], &some->statuses[0]));
      done = 1;
    } else {
      MPI_OK(MPI_Test(&some->requests[0], &done, &some->statuses[0]));
      CHECK(done >= looked, "Request_get_status says that it has ended, Test that it has not");
    }
  } else if (way == 1) {
    MPI_OK(MPI_Test(&some->requests[0], &done, &some->statuses[0]));
  } else {
    MPI_OK(MPI_Wait(&some->requests[0], &some->statuses[0]));
  }
  if (done) tell_all(pool, some);
}

void complete_some(Pool* pool) {
  int done = 0, index = MPI_UNDEFINED;
  if (pool->count == 0) return;
  const int way = random_below(pool->random, 9);
  Some some = choose(pool, way > 2);
  if (some.count == 0) return;
  switch (way) {
    case 3:
      MPI_OK(MPI_Waitall(some.count, some.requests, some.statuses));
      tell_all(pool, &some);
      return;
    case 4:
      if (pool->avoids_test_all) return;
      MPI_OK(MPI_Testall(some.count, some.requests, &done, some.statuses));
      if (done) tell_all(pool, &some);
      return;
    case 5:
      MPI_OK(MPI_Waitany(some.count, some.requests, &index, &some.statuses[0]));
      tell_any(pool, &some, index);
      return;
    case 6:
      MPI_OK(MPI_Testany(some.count, some.requests, &index, &done, &some.statuses[0]));
      if (done) tell_any(pool, &some, index);
      CHECK(done || index == MPI_UNDEFINED, "Testany: not done, but index %d", index);
      return;
    case 7:
      MPI_OK(MPI_Waitsome(some.count, some.requests, &done, some.indices, some.statuses));
      tell_some(pool, &some, done);
      return;
    case 8:
      MPI_OK(MPI_Testsome(some.count, some.requests, &done, some.indices, some.statuses));
      tell_some(pool, &some, done);
      return;
    default: complete_single(pool, &some, way);
  }
}

void complete_one(Pool* pool, int place) {
  Some some = {.count = 1, .active = 1};
  if (pool->owners[place] == NULL) return;
  some.places[0] = place;
  some.requests[0] = pool->requests[place];
  complete_single(pool, &some, 0);
}

void complete_all(Pool* pool) {
  while (pool->active > 0) complete_some(pool);
}
