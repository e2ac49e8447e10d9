// Opening a communicator, its ranks find out together on which node each of them runs, take over rank 0's settings and tuning table, share a segment
// in every node, and test whether they may read each other's memory. On several nodes they also open messages.
//
// All of that goes through an Exchange. A rank on which an MPI call fails leaves no other rank waiting: in each step every rank says whether it has
// given up (mpi_exchange.h). If no row of the tuning table can serve the communicator, its ranks share nothing.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "mpi/library/flavour.h"
#include "transport/exchange.h"

namespace crossrail::mpi {

// Collective over the intracommunicator `comm`, through `exchange` and, in a blocking call, through collectives on `comm`. Returns null on all ranks
// alike if every call on this communicator is native (crossrail is switched off, or MPI has refused something).
std::unique_ptr<Communicator> open_communicator(MPI_Comm comm, Exchange& exchange);

// Asks whether a Mover can advance pending calls in this process. requests/ lies above this folder and sets it when the library is loaded.
extern bool (*mover_is_there)();

}  // namespace crossrail::mpi
