// Of an alltoallv on device memory, for collectives that are alltoallvs with many empty blocks.
#pragma once

#include "collectives/algorithm.h"

namespace crossrail::alltoallv_device::ipc_push {

Fit fit(const Topology& topology, const Shape& shape);
Status plan(Plan& plan);
Status run(Plan& plan, const Buffers& buffers);

}  // namespace crossrail::alltoallv_device::ipc_push
