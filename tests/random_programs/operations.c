#include "operations.h"

#include <sched.h>
#include <string.h>

#include "check.h"

int careful;
static Operation operations[kMostOperations];

Operation* operation_of(int number) {
  if (number < 0 || number >= kMostOperations) give_up("no operation %d", number);
  return &operations[number];
}

/* These are some operations, in the order of the step. Handles of those that have ended, or are no operations of this rank, are null. */
typedef struct {
  int count;
  Operation* of[kMostOperations];
  MPI_Request requests[kMostOperations];
  int done[kMostOperations];
  MPI_Status statuses[kMostOperations];
} Selection;

/* Some MPI libraries cannot complete among persistent collectives: not among inactive ones, and not among active ones if it may be in vain. */
static int is_left_out(const Operation* one, const char* how) {
  const int persistent = one->exchange != NULL && one->exchange->mode == 'p';
  const int waits = strcmp(how, "waitall") == 0 || strcmp(how, "wait") == 0 || strcmp(how, "test") == 0;
  return careful && persistent && (!one->active || !waits);
}

static void select_operations(Selection* all, const int* numbers, int count, const char* how) {
  all->count = 0;
  for (int i = 0; i < count; ++i) {
    Operation* const one = operation_of(numbers[i]);
    if (is_left_out(one, how)) continue;
    all->of[all->count] = one;
    all->requests[all->count++] = one->ended == NULL ? MPI_REQUEST_NULL : one->request;
  }
}

/* MPI says that number `i` is complete; null and inactive ones are, too. */
static void has_ended(Selection* all, int i, const MPI_Status* status) {
  Operation* const one = all->of[i];
  one->request = all->requests[i];
  if (one->ended == NULL || !one->active) return;
  one->active = 0;
  one->ended(one, status);
}

static int any_active(const Selection* all) {
  for (int i = 0; i < all->count; ++i) {
    if (all->of[i]->active) return 1;
  }
  return 0;
}

static void each(Selection* all, const char* how) {
  for (int i = 0; i < all->count; ++i) {
    int flag = 1;
    MPI_Status status;
    if (strcmp(how, "wait") == 0) MPI_OK(MPI_Wait(&all->requests[i], &status));
    if (strcmp(how, "test") == 0) MPI_OK(MPI_Test(&all->requests[i], &flag, &status));
    if (strcmp(how, "status") == 0) {
      MPI_OK(MPI_Request_get_status(all->requests[i], &flag, &status));
      continue; /* It is not freed. */
    }
    if (flag) has_ended(all, i, &status);
  }
}

static void several(Selection* all, const char* how) {
  int done = 1;
  if (strcmp(how, "waitall") == 0) {
    MPI_OK(MPI_Waitall(all->count, all->requests, all->statuses));
  } else {
    MPI_OK(MPI_Testall(all->count, all->requests, &done, all->statuses));
  }
  for (int i = 0; i < all->count && done; ++i) has_ended(all, i, &all->statuses[i]);
}

static void one_of(Selection* all, const char* how) {
  int index = MPI_UNDEFINED, flag = 1;
  MPI_Status status;
  if (strcmp(how, "waitany") == 0) {
    MPI_OK(MPI_Waitany(all->count, all->requests, &index, &status));
  } else {
    MPI_OK(MPI_Testany(all->count, all->requests, &index, &flag, &status));
  }
  if (!flag) return;
  if (index == MPI_UNDEFINED) {
    CHECK(!any_active(all), "WRONG rank %d: %s says that none of its requests is active", world_rank(), how);
    return;
  }
  if (index < 0 || index >= all->count) give_up("%s says index %d", how, index);
  CHECK(all->of[index]->active, "WRONG rank %d: %s says that an inactive request has ended", world_rank(), how);
  has_ended(all, index, &status);
}

static void some_of(Selection* all, const char* how) {
  int number = 0;
  if (strcmp(how, "waitsome") == 0) {
    MPI_OK(MPI_Waitsome(all->count, all->requests, &number, all->done, all->statuses));
    CHECK(number != 0, "WRONG rank %d: waitsome returned without any", world_rank());
  } else {
    MPI_OK(MPI_Testsome(all->count, all->requests, &number, all->done, all->statuses));
  }
  if (number == MPI_UNDEFINED) {
    CHECK(!any_active(all), "WRONG rank %d: %s says that none of its requests is active", world_rank(), how);
    return;
  }
  for (int i = 0; i < number; ++i) has_ended(all, all->done[i], &all->statuses[i]);
}

static void complete(Selection* all, const char* how) {
  if (strcmp(how, "wait") == 0 || strcmp(how, "test") == 0 || strcmp(how, "status") == 0) {
    each(all, how);
  } else if (strcmp(how, "waitall") == 0 || strcmp(how, "testall") == 0) {
    several(all, how);
  } else if (strcmp(how, "waitany") == 0 || strcmp(how, "testany") == 0) {
    one_of(all, how);
  } else {
    some_of(all, how);
  }
}

/* HOW with a + behind goes on until all have ended. */
void complete_step(Script* script) {
  char how[kWordBytes];
  int numbers[kMostOperations];
  const int rank = (int)next_number(script);
  strcpy(how, next_word(script));
  const int count = (int)next_number(script);
  for (int i = 0; i < count; ++i) numbers[i] = (int)next_number(script);
  if (rank >= 0 && rank != world_rank()) return;
  static _Thread_local Selection all;
  const size_t length = strlen(how);
  const int until_all = how[length - 1] == '+';
  if (until_all) how[length - 1] = '\0';
  do {
    select_operations(&all, numbers, count, how);
    complete(&all, how);
    if (until_all && strncmp(how, "test", 4) == 0) sched_yield();
  } while (until_all && any_active(&all));
}

void complete_all(const int* numbers, int count) {
  static _Thread_local Selection all;
  select_operations(&all, numbers, count, "waitall");
  if (any_active(&all)) several(&all, "waitall");
}

void start_operation(Operation* operation) {
  operation->active = 1;
  if (operation->exchange != NULL) refill(operation->exchange);
}

static void end_of(Operation* one) {
  MPI_Status status;
  if (one->active) {
    MPI_OK(MPI_Wait(&one->request, &status));
    one->active = 0;
    one->ended(one, &status);
  }
  if (one->exchange != NULL) {
    if (one->request != MPI_REQUEST_NULL) MPI_OK(MPI_Request_free(&one->request));
    free_exchange(one->exchange);
  }
  memset(one, 0, sizeof *one);
}

void finish_operations(void) {
  for (int i = 0; i < kMostOperations; ++i) {
    if (operations[i].ended != NULL) end_of(&operations[i]);
  }
}
