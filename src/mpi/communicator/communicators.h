// CommunicatorRecord is what crossrail knows of a communicator. It is stored as an attribute of that communicator.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "device/device.h"
#include "mpi/communicator/call_turn.h"
#include "mpi/communicator/early_opening.h"
#include "mpi/communicator/first_calls.h"
#include "mpi/communicator/other_calls.h"
#include "mpi/communicator/persistent_slot.h"
#include "mpi/library/flavour.h"
#include "mpi/arguments/regular_call.h"
#include "mpi/arguments/vector_call.h"

namespace crossrail::mpi {

struct CommunicatorRecord {
  MPI_Comm comm{};
  int ranks = 0;
  bool between_groups = false;  // This is an inter-communicator, whose calls are all left to MPI.
  bool opened = false;  // Calls are native until it is opened (opening.h).
  FirstCalls first_calls;
  std::int64_t first_call_began_ns = 0;
  std::unique_ptr<EarlyOpening> early;  // This exists from the second nonblocking call until the communicator is open and all ranks know it.
  std::unique_ptr<Communicator> communicator;  // If null, every call is native.
  CallTurn turn;                               // Handled blocking calls take turns.
  VectorCall::Facts facts;                     // These are facts about blocking v-collectives.
  std::optional<RegularCall> last_regular;     // It is the last blocking call with equal blocks or of a reduction that had to be surveyed.
  PersistentSlots persistent;
  std::atomic<int> uses{1};                    // The MPI communicator and every pending or persistent call hold one use.
  bool freed = false;                          // The MPI communicator no longer exists.

  // Returns whether calls on it may be handled: it is open and at least one algorithm can serve it.
  bool may_carry() const { return opened && communicator != nullptr && !communicator->native_only; }
  // For an open communicator: returns whether every call goes to MPI without any work of ours.
  bool has_nothing_to_do() const { return communicator->native_only && !device::driver_present(); }
};

// Returns whether `comm` can have a record; `record` is null if it has none yet.
bool find(MPI_Comm comm, CommunicatorRecord*& record);
// Returns the record of `comm`, or a new one that is not opened. Returns null
// if there can be none (`comm` is no communicator, or MPI is not running).
CommunicatorRecord* look_up(MPI_Comm comm);
// LastRecord is the record that this thread looked up last. It is valid as long as no record has been deleted since.
struct LastRecord {
  MPI_Comm comm{};
  CommunicatorRecord* record = nullptr;
  std::uint64_t generation = 0;
};
extern constinit thread_local LastRecord last_record;

// Keeps a record alive until `unuse`, even after its communicator has been freed.
void use(CommunicatorRecord& record);
void unuse(CommunicatorRecord& record);

// A Freeing exists while the program frees a communicator. What the program's attribute delete functions call on the communicator meanwhile is left
// to MPI, because our attribute may already be gone and a new one cannot be set.
struct Freeing {
  MPI_Comm comm;
  Freeing* outer;  // It is the one around this one on the same thread.
};
Freeing* begin_to_free(MPI_Comm comm);
void end_freeing(Freeing* begun);
// The program calls MPI_Comm_disconnect. MPICH waits in it for the last request on the communicator, including ours, before it deletes attributes.
void begin_to_disconnect(MPI_Comm comm);

// Returns true from the beginning of MPI_Finalize on. From then on, MPI objects no longer have to be freed.
bool finalizing();
// MPI_Finalize begins. If the program calls it by another name than the C one, we notice when the attributes of MPI_COMM_SELF are deleted.
void begin_finalize();
struct FinalizeObserver {
  void (*before)() = nullptr;  // It is called while pending calls can still make progress.
  void (*begun)() = nullptr;
};
void observe_finalize(const FinalizeObserver& observer);

}  // namespace crossrail::mpi
