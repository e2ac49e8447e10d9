// Where the bytes of a datatype lie, for devices that pack and unpack by themselves.
#pragma once

#include "comm/buffers.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

// Remembered with the datatype, and gone with it. Null where it is not known how to take the type
// apart (or it falls into more than a million pieces): such data go through host memory.
const DeviceLayout* layout_of(MPI_Datatype type);

}  // namespace crossrail::mpi
