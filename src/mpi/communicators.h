// The record that crossrail keeps with a communicator, as one of its attributes.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "mpi/flavour.h"
#include "mpi/vector_side.h"

namespace crossrail::mpi {

struct CommunicatorRecord {
  std::unique_ptr<Communicator> communicator;  // null: every call on it is native
  SideRoom out, in;                            // of v-collectives
};

// The record of `comm`; at its first call, which is collective, made by all ranks together.
// Null where there can be none (no such communicator, MPI not running): the call is native.
CommunicatorRecord* record_of(MPI_Comm comm);

// True from the beginning of MPI_Finalize on: nothing of MPI's needs to be given back any more.
bool finalizing();

}  // namespace crossrail::mpi
