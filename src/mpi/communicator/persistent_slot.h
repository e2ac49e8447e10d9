// A slot of its own for a persistent call, so that calls may be started in any order.
#pragma once

#include <memory>

#include "mpi/communicator/communicators.h"

namespace crossrail::mpi {

struct PersistentSlot {
  PersistentSlot(CommunicatorRecord& its_record, std::size_t its_number) : record(its_record), number(its_number) {}
  ~PersistentSlot();
  CommunicatorRecord& record;
  std::size_t number;
  SharedMemory memory;
  std::unique_ptr<Slot> slot;
};

// Collective over the communicator, which is open. Null on all ranks alike where there is no memory or no number
// left for another one, or some rank is not able.
std::unique_ptr<PersistentSlot> open_persistent_slot(CommunicatorRecord& record, Code able);

}  // namespace crossrail::mpi
