// What the MPI library is told of requests of ours that have ended (completion.h).
#pragma once

#include "mpi/requests/pending.h"

namespace crossrail::mpi {

// For the query function of a generalized request: fills the status; the code for the MPI library.
int tell_end(OurRequest& call, MPI_Status* status);

// While a thread has one, it looks at requests for itself: the end of none is told.
class OwnLook {
 public:
  OwnLook();
  ~OwnLook();
  OwnLook(const OwnLook&) = delete;
};

}  // namespace crossrail::mpi
