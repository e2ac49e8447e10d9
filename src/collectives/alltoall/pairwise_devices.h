// The part of pairwise on nodes whose ranks have their blocks in device memory.
#pragma once

#include "collectives/algorithm.h"

namespace crossrail::alltoall::pairwise {

void plan_on_devices(Plan& plan);

}  // namespace crossrail::alltoall::pairwise
