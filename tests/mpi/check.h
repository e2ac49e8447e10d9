/* All test programs use these checks. A check that is not met is printed with its place; the program then returns 1 and does not say PASS. */
#pragma once

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((weak)) int failed_checks; /* All files of a program share it. */

static inline void complain(const char* file, int line, const char* format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (++failed_checks <= 20) fprintf(stderr, "%s:%d: %s\n", file, line, text);
}

#define CHECK(condition, ...) \
  do {                        \
    if (!(condition)) complain(__FILE__, __LINE__, __VA_ARGS__); \
  } while (0)

#define MPI_OK(call)                                                             \
  do {                                                                           \
    const int code_ = (call);                                                    \
    if (code_ != MPI_SUCCESS) complain(__FILE__, __LINE__, "%s: error %d", #call, code_); \
  } while (0)

/* Returns what main returns. It makes one write, so that lines of several ranks stay lines. */
static inline int verdict(void) {
  if (failed_checks > 0) {
    fprintf(stderr, "%d checks not met\n", failed_checks);
    return 1;
  }
  fflush(stdout);
  printf("PASS\n");
  fflush(stdout);
  return 0;
}

/* Every rank can compute these numbers for every other rank. The number is what `from` sends to `to` as element `i`. */
static inline int number(int from, int to, int i) { return from * 1000003 + to * 1009 + i * 7 + 1; }

static inline int rank_in(MPI_Comm comm) {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

static inline int size_of_comm(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

/* Makes one alltoall of `count` ints a block, checked against the definition. Returns MPI's code. */
static inline int checked_alltoall(MPI_Comm comm, int count, int salt) {
  const int rank = rank_in(comm), size = size_of_comm(comm);
  int* send = (int*)malloc(sizeof(int) * (size_t)(size * count + 1));
  int* recv = (int*)malloc(sizeof(int) * (size_t)(size * count + 1));
  for (int to = 0; to < size; ++to) {
    for (int i = 0; i < count; ++i) send[to * count + i] = number(rank, to, i + salt);
  }
  memset(recv, 0xee, sizeof(int) * (size_t)(size * count + 1));
  const int code = MPI_Alltoall(send, count, MPI_INT, recv, count, MPI_INT, comm);
  int wrong = 0;
  for (int from = 0; from < size && code == MPI_SUCCESS; ++from) {
    for (int i = 0; i < count; ++i) wrong += recv[from * count + i] != number(from, rank, i + salt);
  }
  CHECK(wrong == 0, "%d wrong elements of %d ints a block among %d ranks", wrong, count, size);
  CHECK(recv[size * count] == (int)0xeeeeeeee, "wrote behind the end");
  free(send);
  free(recv);
  return code;
}
