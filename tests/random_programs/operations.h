/* What a thread has started and not completed: requests of all kinds, completed in all of MPI's ways. */
#pragma once

#include "exchanges.h"

enum { kMostOperations = 1024 };

typedef struct Operation {
  MPI_Request request;
  int active;
  void (*ended)(struct Operation* operation, const MPI_Status* status);
  Exchange* exchange; /* or another owner */
  void* owner;
} Operation;

/* Told at the start: the MPI library needs inactive persistent collectives left out of what is completed. */
extern int careful;

/* By its number in the program; one thread only touches it. */
Operation* operation_of(int number);
/* The step `complete RANK HOW COUNT numbers...`: by that rank, or by all for -1. */
void complete_step(Script* script);
void complete_all(const int* numbers, int count);
/* What is still active of these ends, and persistent requests are freed. */
void finish_operations(void);
void start_operation(Operation* operation);
