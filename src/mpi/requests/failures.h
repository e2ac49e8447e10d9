// This file says what MPI is told about requests of ours that have ended (completion.h).
#pragma once

#include "mpi/requests/pending.h"

namespace crossrail::mpi {

// The query function of a generalized request calls it to fill the status. Returns the code for MPI.
int tell_end(OurRequest& call, MPI_Status* status);

// While a thread has one, it looks at requests for its own purposes, and MPI's query functions report no errors.
class OwnLook {
 public:
  OwnLook();
  ~OwnLook();
  OwnLook(const OwnLook&) = delete;
};

}  // namespace crossrail::mpi
