// The functions of NCCL's interface that crossrail has a part in.
#pragma once

namespace crossrail::nccl {

// Returns crossrail's function of that name (ncclAllReduce or pncclAllReduce), or null if it has none.
void* own_function(const char* name);

}  // namespace crossrail::nccl
