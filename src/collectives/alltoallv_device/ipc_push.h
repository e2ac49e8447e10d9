// The text of alltoallv_device/ipc_push and allgatherv_device/ipc_push.
#pragma once

#include "comm/plan.h"

namespace crossrail::alltoallv_device {

// Writes what this rank sends into the receivers' buffers: a block for each of them, or, of an allgatherv, one for all.
Status push_blocks(Plan& plan, const Buffers& buffers);

}  // namespace crossrail::alltoallv_device
