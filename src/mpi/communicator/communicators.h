// The record that crossrail keeps with a communicator, as one of its attributes.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "device/device.h"
#include "mpi/communicator/early_opening.h"
#include "mpi/library/flavour.h"
#include "mpi/interpose/vector_call.h"

namespace crossrail::mpi {

struct CommunicatorRecord {
  MPI_Comm comm{};
  // By the first blocking collective call on it, or between nonblocking ones, which may not wait for other ranks
  // and are native until then.
  bool opened = false;
  std::uint64_t nonblocking_calls = 0;  // begun before it was opened
  std::uint64_t frequent_calls = 0;     // record_for_frequent(), before it was opened
  std::unique_ptr<EarlyOpening> early;  // between its second nonblocking call and its opening
  std::unique_ptr<Communicator> communicator;  // null: every call on it is native
  VectorCall::Facts facts;                     // of blocking v-collectives
  std::size_t persistent_made = 0;             // slots for persistent calls so far
  std::vector<bool> persistent_in_use;         // their numbers
  std::atomic<int> uses{1};                    // by the MPI communicator and by pending and persistent calls
  bool freed = false;                          // the MPI communicator has gone

  // Of an open one: whether every call is the MPI library's as it comes.
  bool has_nothing_to_do() const { return communicator->native_only && !device::driver_present(); }
};

// The record of `comm`; at its first call, which is collective, made by all ranks together.
// Null where there can be none (no such communicator, MPI not running): the call is native.
CommunicatorRecord* record_of(MPI_Comm comm);
// The same for MPI_Allreduce, MPI_Allgather and MPI_Reduce_scatter_block, of which programs make one or two on communicators that they make
// by the dozen: not opened, and the call native, until there have been a few, unless CROSSRAIL_REPRODUCIBLE asks for all of them. At the
// beginning of every such call and whatever its arguments, so that all ranks count alike.
CommunicatorRecord* record_for_frequent(MPI_Comm comm);
// The same for a call that may not wait, at its beginning and whatever its arguments, so that all ranks count alike.
// Null too where it has not been opened for this call, or calls cannot be pending on it.
CommunicatorRecord* record_for_pending(MPI_Comm comm);
// A blocking collective call on `comm` that is not ours begins: opens it if nonblocking calls have wanted that. All
// ranks alike, since collective calls are in the same order everywhere.
void open_if_wanted(MPI_Comm comm);

// Why no call on a communicator that has, or should have, been opened is carried; null: calls may be.
const char* why_never_carried(const CommunicatorRecord* record);

// Keeps a record until `unuse`, also after its communicator has been freed.
void use(CommunicatorRecord& record);
void unuse(CommunicatorRecord& record);

// The program frees a communicator, has freed it: for records of which the MPI library does not tell.
void* begin_to_free(MPI_Comm comm);
void freed(void* begun);
// The program calls MPI_Comm_disconnect, in which MPICH waits for its last request on the communicator, ours included, before it deletes attributes.
void begin_to_disconnect(MPI_Comm comm);

// True from the beginning of MPI_Finalize on: nothing of MPI's needs to be given back any more.
bool finalizing();
// It begins: where MPI_Finalize is not called by its C name, with the attributes of MPI_COMM_SELF.
void begin_finalize();
// Called when it begins.
void observe_finalize(void (*observer)());

}  // namespace crossrail::mpi
