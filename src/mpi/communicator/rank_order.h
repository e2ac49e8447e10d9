// This file implements CROSSRAIL_REPRODUCIBLE for a communicator before it is open, and reports calls that it does not cover.
#pragma once

#include "mpi/words/call_result.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Returns whether the environment or any communicator of this process has a setting for it.
bool ever_asked_for_rank_order();

// Returns whether the very first reduction opens `comm`: its info key says so, or else the environment. Both must be the same on all ranks.
// Configuration files need not be, so their settings hold only once a communicator is open.
bool rank_order_from_the_start(MPI_Comm comm);

// A reduction on `comm` has begun or ended as `carried` says. If it was native
// although rank order was asked for, rank 0 reports it, once for each reason.
void tell_if_not_covered(MPI_Comm comm, const char* function, const CallResult& carried);

}  // namespace crossrail::mpi
