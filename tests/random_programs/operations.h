/* A thread has started these and not completed them: requests of all kinds, completed in all of MPI's ways. */
#pragma once

#include "exchanges.h"

enum { kMostOperations = 1024 };

typedef struct Operation {
  MPI_Request request;
  int active;
  void (*ended)(struct Operation* operation, const MPI_Status* status);
  Exchange* exchange; /* An exchange owns it, or `owner` does. */
  void* owner;
} Operation;

/* The start tells that the MPI library needs inactive persistent collectives left out of what is completed. */
extern int careful;

/* Returns the operation of this number in the program. Only one thread touches it. */
Operation* operation_of(int number);
/* This is the step `complete RANK HOW COUNT numbers...`, done by that rank, or by all for -1. */
void complete_step(Script* script);
void complete_all(const int* numbers, int count);
/* Operations that are still active end, and persistent requests are freed. */
void finish_operations(void);
void start_operation(Operation* operation);
