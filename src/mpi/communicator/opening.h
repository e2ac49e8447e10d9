// When communicators are opened: in a call in which all ranks are, when one of them thinks it worth while
// (docs/decisions/0031-opened-when-worth-it.md); between nonblocking ones by EarlyOpening.
#pragma once

#include "comm/shape.h"
#include "mpi/communicator/communicators.h"

namespace crossrail::mpi {

// The record of `comm`, which is open: for what is no use without, a collective call made by all ranks together.
// Null where there can be none (no such communicator, MPI not running): the call is native.
CommunicatorRecord* record_of(MPI_Comm comm);

// Whether a call alone makes it worth while to open its communicator, as this rank sees it.
struct WorthIt {
  const void* call;
  bool (*asked)(const void* call, const CommunicatorRecord& record);
  bool operator()(const CommunicatorRecord& record) const { return asked(call, record); }
};

// The same for a blocking call, at its beginning and whatever its arguments, so that all ranks count alike. It may not be open yet: then
// the call is the MPI library's. MPI_COMM_WORLD is opened by MPI_Alltoall(v, w) at once, and any where CROSSRAIL_REPRODUCIBLE
// asks for it in the environment or by an info key.
CommunicatorRecord* record_for_blocking(MPI_Comm comm, Collective collective, const WorthIt& worth_it);
// Between these such a call is timed. The record stays.
void first_call_begins(CommunicatorRecord& record);
void first_call_ended(CommunicatorRecord& record);
// The same for a call that may not wait, at its beginning and whatever its arguments, so that all ranks count alike.
// Null too where it has not been opened for this call, or calls cannot be pending on it.
CommunicatorRecord* record_for_pending(MPI_Comm comm, const WorthIt& worth_it);
// A blocking collective call on `comm` that is not ours begins: may open it if there have been nonblocking calls. All
// ranks alike, since collective calls are in the same order everywhere.
void open_if_wanted(MPI_Comm comm);
// It has been opened, or goes.
void wanted_no_more(const CommunicatorRecord& record);

// Why no call on a communicator is ever carried; null: calls may be, once it is open.
const char* why_never_carried(const CommunicatorRecord* record);

}  // namespace crossrail::mpi
