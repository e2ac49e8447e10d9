// The record that crossrail keeps with a communicator, as one of its attributes.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "comm/communicator.h"
#include "device/device.h"
#include "mpi/communicator/call_turn.h"
#include "mpi/communicator/early_opening.h"
#include "mpi/communicator/first_calls.h"
#include "mpi/communicator/persistent_slot.h"
#include "mpi/library/flavour.h"
#include "mpi/arguments/vector_call.h"

namespace crossrail::mpi {

struct CommunicatorRecord {
  MPI_Comm comm{};
  int ranks = 0;
  bool between_groups = false;  // an inter-communicator, whose calls are all the MPI library's
  bool opened = false;  // opening.h; calls are native until then
  FirstCalls first_calls;
  std::int64_t first_call_began_ns = 0;
  std::unique_ptr<EarlyOpening> early;  // from its second nonblocking call on, until it is open and all ranks have heard
  std::unique_ptr<Communicator> communicator;  // null: every call on it is native
  CallTurn turn;                               // of blocking calls, while they are ours
  VectorCall::Facts facts;                     // of blocking v-collectives
  PersistentSlots persistent;
  std::atomic<int> uses{1};                    // by the MPI communicator and by pending and persistent calls
  bool freed = false;                          // the MPI communicator has gone

  // Whether calls on it may be carried: it is open, and some algorithm is for it.
  bool may_carry() const { return opened && communicator != nullptr && !communicator->native_only; }
  // Of an open one: whether every call is the MPI library's as it comes.
  bool has_nothing_to_do() const { return communicator->native_only && !device::driver_present(); }
};

// Whether there can be a record for `comm`; null if it has none.
bool find(MPI_Comm comm, CommunicatorRecord*& record);
// The record that `comm` has, or a new one that is not opened. Null where there can be none (no such communicator, MPI not running).
CommunicatorRecord* look_up(MPI_Comm comm);
// The last one that this thread has looked up. It holds as long as no record has gone meanwhile.
struct LastRecord {
  MPI_Comm comm{};
  CommunicatorRecord* record = nullptr;
  std::uint64_t generation = 0;
};
extern constinit thread_local LastRecord last_record;
extern std::atomic<std::uint64_t> generation_of_records;  // grows whenever a record goes

// Keeps a record until `unuse`, also after its communicator has been freed.
void use(CommunicatorRecord& record);
void unuse(CommunicatorRecord& record);

// The program frees a communicator, has freed it or failed to. What its functions that delete attributes call on it meanwhile is the MPI
// library's: ours may have gone, and no new ones can be set.
struct Freeing {
  MPI_Comm comm;
  Freeing* outer;  // of this thread
};
Freeing* begin_to_free(MPI_Comm comm);
void end_freeing(Freeing* begun);
// The program calls MPI_Comm_disconnect, in which MPICH waits for its last request on the communicator, ours included, before it deletes attributes.
void begin_to_disconnect(MPI_Comm comm);

// True from the beginning of MPI_Finalize on: nothing of MPI's needs to be given back any more.
bool finalizing();
// It begins: where MPI_Finalize is not called by its C name, with the attributes of MPI_COMM_SELF.
void begin_finalize();
struct FinalizeObserver {
  void (*before)() = nullptr;  // while calls that are pending can still go on
  void (*begun)() = nullptr;
};
void observe_finalize(const FinalizeObserver& observer);

}  // namespace crossrail::mpi
