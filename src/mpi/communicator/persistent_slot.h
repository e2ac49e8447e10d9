// A persistent call has a slot of its own, so that calls may be started in any order. Making a slot takes a segment, which costs far more than a
// short call. Therefore slots of requests that the program has freed are kept for later requests.
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

// PersistentSlots holds the slots of one communicator. Any thread may free a request, even while another one is being made.
class PersistentSlots {
 public:
  using Numbers = std::bitset<Links::kMostSlots>;

  // An Offer says what this rank can do; a slot is usable if all ranks can.
  struct Offer {
    Numbers not_idle;    // Slots with these numbers are in use here or do not exist.
    bool next_in_use;    // The number that a new slot would get is in use.
  };
  Offer offer();
  // Next holds the number of a new slot, which is the same on all ranks, and how many slots have had it before.
  struct Next {
    std::size_t number, had_before;
  };
  Next next() const { return {kFirst + made_ % kMost, made_ / kMost}; }
  // All ranks have agreed that the number is used up.
  void pass() { ++made_; }
  void in_use(std::size_t number, bool is);
  // take() returns an idle slot. keep() makes a slot idle, and returns false if there are enough.
  std::unique_ptr<PersistentSlot> take(std::size_t number);
  bool keep(std::unique_ptr<PersistentSlot>& slot);

 private:
  static constexpr std::size_t kFirst = 1 + Communicator::kMostPendingSlots;
  static constexpr std::size_t kMost = Links::kMostSlots - kFirst;
  std::mutex mutex_;
  std::size_t made_ = 0;
  Numbers in_use_;
  std::vector<std::unique_ptr<PersistentSlot>> idle_;  // Their numbers count as in use.
};

// Gives back a slot whose call has ended and whose request has been freed.
struct GiveBack {
  void operator()(PersistentSlot* slot) const;
};
using PersistentSlotInUse = std::unique_ptr<PersistentSlot, GiveBack>;

// Collective over the open communicator. Returns null on all ranks alike if there
// is no memory or no number left for another slot, or some rank is not `able`.
PersistentSlotInUse open_persistent_slot(CommunicatorRecord& record, Code able);

}  // namespace crossrail::mpi
