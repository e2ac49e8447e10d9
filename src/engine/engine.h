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

// Every rank of the communicator calls it with the same Shape, whose memory is `host`. If all sides of all ranks lie in device memory, the ranks find
// that out, and the call gets a plan for it.
// If the plan is native, nothing was done and the caller hands the call to MPI. That never happens on slots for pending calls, where it would be too
// late.
// Errors: mismatch, peer_lost (communicator.broken is then set on the ranks that noticed), system; those of UserBuffers. After an error nothing more
// arrives in the buffers.
struct Outcome {
  Status status;
  const Plan* plan = nullptr;
};
Outcome run_collective(Slot& slot, const Shape& shape, UserBuffers& buffers);
inline Outcome run_collective(Communicator& communicator, const Shape& shape, UserBuffers& buffers) {
  return run_collective(communicator.slot(), shape, buffers);
}
Outcome run_collective(Communicator& communicator, const Shape& shape, const Buffers& buffers);

// Returns whether a call of this Shape can be pending: some row of the table is for it, and the last candidate cannot fail. It has no side effects,
// and the result is the same on all ranks.
bool can_be_pending(Communicator& communicator, const Shape& shape);

// Enqueues a collective in the order of a stream (null is the program's default stream), and returns when the work is enqueued. It needs device
// memory, contiguous blocks and one node. An alltoallv takes CountedBuffers. Errors are as above; also unsupported and no_memory if it cannot be done:
// then nothing is enqueued, and this rank has not made the call. The error is the same on all ranks in a communicator's first call and where peers must
// map memory; elsewhere, ranks learn only of their own. If an earlier call's counts were wrong here, it is invalid, and the call has been enqueued.
Status run_on_stream(Communicator& communicator, Shape shape, UserBuffers& buffers, void* stream);

// Opens what calls in a stream's order need, as the first one does otherwise. All ranks call it alike, each with some memory of its device. Errors: those
// of a communicator's first call. It has messages, too, if all ranks want them.
Status open_stream_order(Communicator& communicator, const DeviceSide& near, WantsMessages messages);
// Once it is open, returns whether there are messages between pairs of ranks. The answer is the same on all ranks.
bool takes_messages(Communicator& communicator);
// Enqueues messages between this rank and others in the order of a stream. Between two ranks they are paired in the order in which both ask for them. All
// of one call go on at the same time. No other rank is asked on the host. Errors: peer_lost, broken, system; nothing is enqueued then.
Status messages_on_stream(Communicator& communicator, const Messages& messages, void* stream);
// Once it is open, returns whether calls of this Shape ask no other rank on the host. The answer is the same on all ranks.
bool meets_nobody(Communicator& communicator, Shape shape);

// Between these two calls, all ranks work on a slot for something that is none of MPI's collectives (shared_device), so nothing of it can be given
// back to MPI. `hash` and `bytes` are the same on all ranks. Errors that all ranks have alike (unsupported, no_memory, invalid) change nothing. All
// others break the communicator up.
Status begin_own_call(Slot& slot, std::uint64_t hash, std::uint64_t bytes);
Status end_own_call(Slot& slot, const Status& status);

// This rank cannot take part in a call that the other ranks may be in, because of `code`. It tells them, and the communicator is native from now on.
void withdraw(Slot& slot, const Shape& shape, Code code);

// Planning has to know this of a persistent call.
struct PersistentCall {
  UserBuffers& user;
  bool not_for_mpi = false;  // This rank has device memory in the call that MPI cannot read.
};

// All ranks make the plan of a persistent call together and may wait for each other.
// If `native`, which is the same on all ranks, MPI gets the call. Errors are as above.
Status plan_ahead(Slot& slot, const Shape& shape, const PersistentCall& call, bool& native);

// Returns whether any algorithm serves calls of this Shape on this slot, natively or not. It has no side effects.
bool has_row(const Slot& slot, const Shape& shape);

// Finds the largest value over all ranks: first within the node through the control
// block, which also notices a rank with another Shape, and then across nodes.
Status agree_on_largest(Slot& slot, std::uint32_t mine, std::uint32_t& largest);

// Seen is what all ranks know of the buffers of the call for which a plan is made.
struct Seen {
  bool devices_of_nodes = false;  // On several nodes: all sides are in device memory.
  bool never_native = false;      // Some sides are in device memory that MPI cannot read, and MPI cannot be given copies.
};

// Finds the plan for a Shape. At the first call, all ranks make it together.
Status plan_for(Slot& slot, const Shape& shape, Plan*& plan, const Seen& seen = {});

}  // namespace crossrail
