// The engine runs one call of a collective, from its Shape to moved bytes: it looks the plan up or makes it, and runs it. A call takes
// these steps on all ranks alike:
//
// - Its descriptor is published, so that a rank which waits in vain can see what the others are in.
// - On one node, the ranks find out whether all of their sides are in device memory (device_sharing/device_sharing.h). If so, the Shape
//   becomes one of device memory. If not, the call is one on host memory, and ranks with device memory stage it.
// - The plan is found by its Shape, or made by all ranks together: candidates are tried in order, and after each one all ranks agree
//   whether every rank could plan it. The last candidate is native. A pending call cannot become native once it has begun, so its last
//   candidate is an algorithm whose planning cannot fail.
// - Now and then SpeedGuard hands a call to MPI in order to compare both ways (engine/compared.h).
// - On several nodes the kind of memory is no part of the Shape: each node does its part of the plan on its devices if all sides of its
//   ranks are there, and otherwise with its processors (engine/device_call.h).
//
// After an error, the state that ranks share cannot be trusted. The rank that meets the error first breaks the slots up
// (Communicator::break_up). Ranks of the same node see that in the control block, others hear of it by an error notice. Each rank cancels
// what the call has posted and lets its device finish, so that nothing arrives in the buffers after the call has returned. From then on
// blocking calls on the communicator are native. Pending calls are never given back to MPI: those that are under way and those that are
// started later end with an error.
#pragma once

#include "comm/buffers.h"
#include "comm/communicator.h"
#include "comm/shape.h"
#include "comm/user_buffers.h"

namespace crossrail {

// Every rank of the communicator calls it with the same Shape, whose memory is `host`: ranks whose
// sides all lie in device memory find that out, and the call gets a plan for it.
// The plan says native: nothing was done, the caller hands the call to the MPI library. Not on slots for
// pending calls, where that would be too late.
// Errors: mismatch, peer_lost (communicator.broken is then set on the ranks that noticed), system;
// those of UserBuffers. After one nothing more arrives in the buffers.
struct Outcome {
  Status status;
  const Plan* plan = nullptr;
};
Outcome run_collective(Slot& slot, const Shape& shape, UserBuffers& buffers);
inline Outcome run_collective(Communicator& communicator, const Shape& shape, UserBuffers& buffers) {
  return run_collective(communicator.slot(), shape, buffers);
}
Outcome run_collective(Communicator& communicator, const Shape& shape, const Buffers& buffers);

// Whether a call of this Shape can be pending: some row is for it, and one that cannot fail is left in the
// end. Pure; the same on all ranks.
bool can_be_pending(Communicator& communicator, const Shape& shape);

// A collective in the order of a stream (null: the program's default one): returns when the work is enqueued.
// Device memory, contiguous blocks, one node, a device for every rank. Errors as above; unsupported and no_memory,
// on all ranks alike, where it cannot be done (nothing is then enqueued), or where an earlier call's counts were wrong.
// Alltoallv: of CountedBuffers.
Status run_on_stream(Communicator& communicator, Shape shape, UserBuffers& buffers, void* stream);

// Between these two, work of all ranks on a slot that is none of MPI's collectives (shared_device). Nothing of it can be given back to the MPI
// library. `hash` and `bytes` are the same on all ranks. Errors of the work that all ranks have alike change nothing (unsupported,
// no_memory, invalid), all others break the communicator up.
Status begin_own_call(Slot& slot, std::uint64_t hash, std::uint64_t bytes);
Status end_own_call(Slot& slot, const Status& status);

// This rank cannot take part, for the reason of `code`, in a call that the others may be in: they
// are told, and the communicator is native from now on.
void withdraw(Slot& slot, const Shape& shape, Code code);

// What planning has to know of a persistent call.
struct PersistentCall {
  UserBuffers& user;
  bool not_for_mpi = false;  // this rank has device memory there, of which the MPI library knows nothing
};

// For a persistent call: makes its plan, by all ranks together, which may wait for each other. `native`, on all
// ranks alike: the MPI library is to have the call. Errors as above.
Status plan_ahead(Slot& slot, const Shape& shape, const PersistentCall& call, bool& native);

// Whether some algorithm is for calls of this Shape on this slot, native or not. Pure.
bool has_row(const Slot& slot, const Shape& shape);

// The largest value over all ranks. Within the node through the control block, which also notices a rank that came with
// another Shape; then across nodes.
Status agree_on_largest(Slot& slot, std::uint32_t mine, std::uint32_t& largest);

// What all ranks have seen of the buffers of the call for which a plan is made.
struct Seen {
  bool devices_of_nodes = false;  // several nodes: all sides are in device memory
  bool never_native = false;      // some are, of which the MPI library knows nothing, and it cannot be given copies
};

// The plan for a Shape, made by all ranks together at the first time.
Status plan_for(Slot& slot, const Shape& shape, Plan*& plan, const Seen& seen = {});

}  // namespace crossrail
