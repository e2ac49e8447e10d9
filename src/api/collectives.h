// The collectives as calls: look the plan up or make it, and run it.
#pragma once

#include "comm/buffers.h"
#include "comm/communicator.h"
#include "comm/shape.h"

namespace crossrail {

// Every rank of the communicator calls it with the same Shape.
// The plan says native: nothing was done, the caller hands the call to the MPI library.
// Errors: mismatch, peer_lost (communicator.broken is then set on the ranks that noticed), system.
struct Outcome {
  Status status;
  const Plan* plan = nullptr;
};
Outcome run_collective(Communicator& communicator, const Shape& shape, const Buffers& buffers);

// This rank cannot take part, for the reason of `code`, in a call that the others may be in: they
// are told, and the communicator is native from now on.
void withdraw(Communicator& communicator, const Shape& shape, Code code);

// The plan for a Shape, made by all ranks together at the first time.
Status plan_for(Communicator& communicator, const Shape& shape, Plan*& plan);

}  // namespace crossrail
