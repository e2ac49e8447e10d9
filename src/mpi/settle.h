// What the program gets from a call that crossrail has taken: the code, and errors raised on its
// communicator.
#pragma once

#include "api/collectives.h"
#include "mpi/carry.h"
#include "mpi/flavour.h"

namespace crossrail::mpi {

struct CallPlace {
  const char* function;
  MPI_Comm comm;
  Communicator& communicator;
  const Shape& shape;
};

// True where it is known already that the MPI library gets the call: nothing needs preparing.
bool known_native(const CallPlace& place);

// This rank's own two sides differ in size: the others, who would wait for blocks of a size that is
// not coming, are told.
void refuse_unequal_sides(const CallPlace& place, Carried& carried);

void settle(const CallPlace& place, const Outcome& outcome, Carried& carried);

// Kept for last_algorithm().
Carried noted(const Carried& carried);

}  // namespace crossrail::mpi
