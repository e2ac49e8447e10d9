/* The files of wrong_programs share this header. */
#pragma once

#include "check.h"

enum { kMost = 64 };

extern int send[kMost], recv[kMost];
extern MPI_Comm comm;
extern const char* name; /* It is the name of the case. */

typedef struct {
  const char* name;
  void (*run)(void);
} Case;
#define CASE(its_name) {#its_name, its_name}
/* All lists end with a case without a name. The cases are of arguments, of ranks that do not agree with each other, and of requests. */
extern const Case wrong_arguments[], wrong_order[];

static inline void report(const char* what, int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  printf("result rank %d %s, %s: class %d\n", rank_in(MPI_COMM_WORLD), name, what, class);
  fflush(stdout);
}

static inline void returned(const char* what) {
  printf("result rank %d %s, %s: returned\n", rank_in(MPI_COMM_WORLD), name, what);
  fflush(stdout);
}

static inline int end_of(int code, MPI_Request* request) { return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code; }
