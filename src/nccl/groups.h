// Groups of NCCL's calls. NCCL makes what is in a group when the outermost one ends, and so does crossrail with the calls that it may handle. The
// others go to NCCL at once, in the group that it has open.
#pragma once

#include <functional>
#include <memory>

#include "nccl/calls.h"
#include "nccl/messages.h"

namespace crossrail::nccl {

Result group_start();
// `end` is NCCL's function that ends a group.
Result group_end(const std::function<Result()>& end);
// NCCL tells how long the group would take, and makes none of its calls. It gets all of them.
Result group_simulate_end(void* facts);
// Makes a call, or keeps it for the end of this thread's group.
Result make_or_keep(const Call& call);
Result make_or_keep(const Message& message);

// A communicator is being made. NCCL knows it when its function returns or, in a group, when that ends.
struct Making {
  Comm* comm;
  std::unique_ptr<Record> record;
};
Result made_or_keep(Making making, Result result);

}  // namespace crossrail::nccl
