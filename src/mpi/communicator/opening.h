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

// The record of `comm`, which is open: for what is no use without, a collective call made by all ranks together.
// Null where there can be none (no such communicator, MPI not running): the call is native.
CommunicatorRecord* record_of(MPI_Comm comm);

// The same for a call without which it may stay as it is: not opened yet, and the call is the MPI library's, unless one of the next two opens it.
CommunicatorRecord* look_up_for_call(MPI_Comm comm);
inline CommunicatorRecord* record_for_call(MPI_Comm comm) {
  const LastRecord& last = last_record;
  const bool known = last.comm == comm && last.generation == generation_of_records.load(std::memory_order_acquire);
  return known && last.record->opened ? last.record : look_up_for_call(comm);
}
// A blocking call begins on one that is not open, which the MPI library would not refuse: on all ranks alike. `worth_it`: to open it for this
// call alone. MPI_COMM_WORLD is opened by MPI_Alltoall(v, w) at once, and any where CROSSRAIL_REPRODUCIBLE asks for it in the environment or by
// an info key.
void count_blocking(CommunicatorRecord& record, Collective collective, bool worth_it);
// A nonblocking one.
void count_nonblocking(CommunicatorRecord& record, bool worth_it);
bool can_have_pending_calls(const CommunicatorRecord& record);
// Some blocking calls that the MPI library has are timed, to find out when opening pays. Whether this one is: then first_call_ended follows.
bool first_call_begins(CommunicatorRecord& record);
void first_call_ended(CommunicatorRecord& record);
// A blocking collective call on `comm` that is not ours begins: may open it if there have been nonblocking calls. All
// ranks alike, since collective calls are in the same order everywhere.
void open_if_wanted(MPI_Comm comm);
// It has been opened, or goes.
void wanted_no_more(const CommunicatorRecord& record);

// Why no call on a communicator is ever carried; null: calls may be, once it is open.
const char* explain_never_carried(const CommunicatorRecord* record);
inline const char* why_never_carried(const CommunicatorRecord* record) {
  return record != nullptr && record->may_carry() ? nullptr : explain_never_carried(record);
}

}  // namespace crossrail::mpi
