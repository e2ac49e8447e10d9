// This is the code of ipc_push of alltoallv_device, allgatherv_device, gatherv_device and scatterv_device.
#pragma once

#include "comm/plan.h"

namespace crossrail::alltoallv_device {

// Writes what this rank sends into the receivers' buffers: one block for each of them or, in an allgatherv, one for all.
Status push_blocks(Plan& plan, const Buffers& buffers);

}  // namespace crossrail::alltoallv_device
