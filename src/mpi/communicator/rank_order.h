// CROSSRAIL_REPRODUCIBLE on a communicator: before it is open, and what is said of calls that it does not cover.
#pragma once

#include "mpi/interpose/carry.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// What this process knows before `comm` is open: its info key, else the setting. Both must be alike on all ranks.
bool asks_for_rank_order(MPI_Comm comm);

// A reduction on `comm` has ended or begun as `carried` says. If the MPI library has it although the ranks' order was asked for, that is said
// once for each reason, by rank 0.
void tell_if_not_covered(MPI_Comm comm, const char* function, const Carried& carried);

}  // namespace crossrail::mpi
