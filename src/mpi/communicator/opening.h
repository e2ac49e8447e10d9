// When communicators are opened. Until then all calls on a communicator are native.
//
// Opening takes time and waits for other ranks, so it happens inside a call that all ranks are in, when one of them thinks that it pays:
// when the calls so far have cost as much time as opening would, or at the first long call or call on device memory
// (docs/decisions/0031-opened-when-worth-it.md). The ranks ask each other only in a few calls, which FirstCalls picks alike on all of them.
// MPI_Allreduce, MPI_Allgather and MPI_Reduce_scatter_block do not ask before the ninth call.
//
// Nonblocking calls may not wait. On one node, EarlyOpening opens the communicator between them. On several nodes, a later blocking
// collective or *_init call does, and so may MPI_Barrier, MPI_Comm_dup and MPI_Comm_split.
#pragma once

#include "comm/shape.h"
#include "mpi/communicator/communicators.h"

namespace crossrail::mpi {

// Returns the record of `comm`, opened, for calls that are useless without one. It is a collective call. Returns null if there can be no record (no
// such communicator, MPI not running); the call is native then.
CommunicatorRecord* record_of(MPI_Comm comm);

// Returns the record for a call that does not need an open communicator. The communicator
// is not opened and the call is native, unless one of the next two functions opens it.
CommunicatorRecord* look_up_for_call(MPI_Comm comm);
inline CommunicatorRecord* record_for_call(MPI_Comm comm) {
  const LastRecord& last = last_record;
  const bool known = last.comm == comm && last.generation == generation_of_records.load(std::memory_order_acquire);
  return known && last.record->opened ? last.record : look_up_for_call(comm);
}
// A blocking call begins on all ranks alike, on a communicator that is not open, and MPI would accept its
// arguments. `worth_it` means that this call alone makes opening pay. MPI_Alltoall(v, w) opens MPI_COMM_WORLD
// at once, and any call does so if the environment or an info key sets CROSSRAIL_REPRODUCIBLE.
void count_blocking(CommunicatorRecord& record, Collective collective, bool worth_it);
// A nonblocking call begins.
void count_nonblocking(CommunicatorRecord& record, bool worth_it);
bool can_have_pending_calls(const CommunicatorRecord& record);
// Returns whether this native blocking call is timed, to find out when opening pays. If so, first_call_ended must follow.
bool first_call_begins(CommunicatorRecord& record);
void first_call_ended(CommunicatorRecord& record);
// A blocking collective on `comm` begins that crossrail never handles. It may open the communicator if there have been nonblocking calls. All ranks
// do so alike, since collective calls are in the same order everywhere.
void open_if_wanted(MPI_Comm comm);
// The communicator has been opened, or its record is being deleted.
void wanted_no_more(const CommunicatorRecord& record);

// Returns why no call on a communicator is ever handled, or null if calls may be handled once it is open.
const char* explain_never_carried(const CommunicatorRecord* record);
inline const char* why_never_carried(const CommunicatorRecord* record) {
  return record != nullptr && record->may_carry() ? nullptr : explain_never_carried(record);
}

}  // namespace crossrail::mpi
