// Opens crossrail's communicator for one of NCCL's, where all its ranks are: when NCCL has made it, or in a collective call.
#pragma once

#include "nccl/communicators.h"

namespace crossrail::nccl {

// All ranks come here alike. The record's mutex is held. Afterwards the record says whether it is open, on all ranks alike. If it is not, they may
// try again.
void open(Record& record);

}  // namespace crossrail::nccl
