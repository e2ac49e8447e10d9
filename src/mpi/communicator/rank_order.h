// CROSSRAIL_REPRODUCIBLE on a communicator: before it is open, and what is said of calls that it does not cover.
#pragma once

#include "mpi/words/call_result.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Whether `comm` is to be opened by its very first reduction: its info key says so, else the environment. Those must be alike on all ranks;
// files need not be, so that what they say holds once a communicator is open.
bool rank_order_from_the_start(MPI_Comm comm);

// A reduction on `comm` has ended or begun as `carried` says. If the MPI library has it although the ranks' order was asked for, that is said
// once for each reason, by rank 0.
void tell_if_not_covered(MPI_Comm comm, const char* function, const CallResult& carried);

}  // namespace crossrail::mpi
