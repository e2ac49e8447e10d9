// The collectives as calls: look the plan up or make it, and run it.
#pragma once

#include "comm/buffers.h"
#include "comm/communicator.h"
#include "comm/shape.h"
#include "comm/sides.h"

namespace crossrail {

// Every rank of the communicator calls it with the same Shape, whose memory is `host`: ranks whose
// sides all lie in device memory find that out, and the call gets a plan for it.
// The plan says native: nothing was done, the caller hands the call to the MPI library.
// Errors: mismatch, peer_lost (communicator.broken is then set on the ranks that noticed), system;
// those of Sides.
struct Outcome {
  Status status;
  const Plan* plan = nullptr;
};
Outcome run_collective(Communicator& communicator, const Shape& shape, Sides& sides);
Outcome run_collective(Communicator& communicator, const Shape& shape, const Buffers& buffers);

// MPI_Alltoall in the order of a stream: returns when the work is enqueued. Device memory, contiguous
// blocks, one node. Errors as above; unsupported, on all ranks alike, where it cannot be done (nothing is
// then enqueued).
Status run_on_stream(Communicator& communicator, const Shape& shape, Sides& sides, void* stream);

// This rank cannot take part, for the reason of `code`, in a call that the others may be in: they
// are told, and the communicator is native from now on.
void withdraw(Communicator& communicator, const Shape& shape, Code code);

// The plan for a Shape, made by all ranks together at the first time.
Status plan_for(Communicator& communicator, const Shape& shape, Plan*& plan);

}  // namespace crossrail
