// What the program gets from a call that crossrail has taken: the code, and errors raised on its
// communicator.
#pragma once

#include "engine/engine.h"
#include "mpi/interpose/carry.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

struct CallPlace {
  const char* function;
  MPI_Comm comm;
  Communicator& communicator;
  const Shape& shape;
};

// Which may end the process: what has been counted is written before.
void call_error_handler(MPI_Comm comm, int code);
struct Failed {
  const char* function;
  MPI_Comm comm;
};
// Logs the error and calls the handler: what the program gets as the code.
int raise(const Failed& call, const Status& status);
// The same of a blocking call, which is counted before the handler is called.
void fail(const Failed& call, const Status& status, Carried& carried);
int raise_of_class(const Failed& call, int error_class, const char* what);

// True where it is known already that the MPI library gets the call: nothing needs preparing.
bool already_native(const CallPlace& place);

// This rank's own two sides differ in size: the others, who would wait for blocks of a size that is
// not coming, are told.
void refuse_unequal_sides(const CallPlace& place, Carried& carried);

void complete_call(const CallPlace& place, const Outcome& outcome, Carried& carried);

// Kept for last_algorithm().
Carried noted(const Carried& carried);

}  // namespace crossrail::mpi
