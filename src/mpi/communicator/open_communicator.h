// Opens a communicator: its ranks find out together who sits where, take over rank 0's settings and tuning table, share a segment in every
// node, and try whether they may read each other's memory. On several nodes, messages are opened as well.
//
// All of that goes through an Exchange. A rank on which an MPI call fails leaves nobody waiting: in each step every rank says whether it
// has given up (mpi_exchange.h). If no row of the tuning table can serve the communicator, its ranks share nothing.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "mpi/library/flavour.h"
#include "transport/exchange.h"

namespace crossrail::mpi {

// Collective over the intracommunicator `comm`, by `exchange` and, in a blocking call, by collectives on `comm`.
// Null on all ranks alike: every call on this communicator is native (crossrail switched off, MPI refused something).
std::unique_ptr<Communicator> open_communicator(MPI_Comm comm, Exchange& exchange);

// Asks whether a Mover can advance pending calls in this process. requests/ lies above this folder and sets it when the library is loaded.
extern bool (*mover_is_there)();

}  // namespace crossrail::mpi
