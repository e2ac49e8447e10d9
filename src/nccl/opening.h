// Opens crossrail's communicator for one of NCCL's, in a call in which all its ranks are.
#pragma once

#include "nccl/communicators.h"

namespace crossrail::nccl {

// The first call that crossrail could handle, and calls 2, 4, 8, ... as long as it could not, come here with some memory of this rank's
// device. The record's mutex is held. Afterwards the record says whether it is open, on all ranks alike.
void open(Record& record, const void* send, const void* recv);

}  // namespace crossrail::nccl
