// A slot of its own for a persistent call, so that calls may be started in any order. Making one takes a segment, which costs
// far more than a short call: those of requests that the program has freed are kept for the next ones.
#pragma once

#include <bitset>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/communicator.h"

namespace crossrail::mpi {

struct CommunicatorRecord;

struct PersistentSlot {
  PersistentSlot(CommunicatorRecord& its_record, std::size_t its_number) : record(its_record), number(its_number) {}
  ~PersistentSlot();
  CommunicatorRecord& record;
  std::size_t number;
  SharedMemory memory;
  std::unique_ptr<Slot> slot;
};

// Those of a communicator. Requests may be freed by any thread, and while another is made.
class PersistentSlots {
 public:
  using Numbers = std::bitset<Links::kMostSlots>;

  // What all ranks must be able to do.
  struct Offer {
    Numbers not_idle;    // slots of these numbers are in use here, or do not exist
    bool next_in_use;    // the number that a new one would have
  };
  Offer offer();
  // The number of a new slot, the same on all ranks, and how many have had it before.
  struct Next {
    std::size_t number, had_before;
  };
  Next next() const { return {kFirst + made_ % kMost, made_ / kMost}; }
  // It is gone, as all ranks have agreed.
  void pass() { ++made_; }
  void in_use(std::size_t number, bool is);
  // One that is idle; to be kept: false where there are enough.
  std::unique_ptr<PersistentSlot> take(std::size_t number);
  bool keep(std::unique_ptr<PersistentSlot>& slot);

 private:
  static constexpr std::size_t kFirst = 1 + Communicator::kMostPendingSlots;
  static constexpr std::size_t kMost = Links::kMostSlots - kFirst;
  std::mutex mutex_;
  std::size_t made_ = 0;
  Numbers in_use_;
  std::vector<std::unique_ptr<PersistentSlot>> idle_;  // of their numbers, which count as in use
};

// Gives a slot back whose call has ended, and whose request has been freed.
struct GiveBack {
  void operator()(PersistentSlot* slot) const;
};
using PersistentSlotInUse = std::unique_ptr<PersistentSlot, GiveBack>;

// Collective over the communicator, which is open. Null on all ranks alike where there is no memory or no number
// left for another one, or some rank is not able.
PersistentSlotInUse open_persistent_slot(CommunicatorRecord& record, Code able);

}  // namespace crossrail::mpi
