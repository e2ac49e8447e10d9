// Communicator is what crossrail remembers of an MPI communicator. The ranks build
// it together at the first call, and it is deleted when the communicator is freed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/settings.h"
#include "comm/slot.h"
#include "comm/speed_guard.h"
#include "comm/tuning_row.h"
#include "topology/topology.h"
#include "transport/shared_memory.h"

namespace crossrail {

// The node's segment has a part for every slot; the slot for blocking calls comes first.
struct SegmentLayout {
  ControlBlockLayout blocking, pending;
  int pending_slots = 0;
  std::size_t total_bytes() const { return blocking.total_bytes() + static_cast<std::size_t>(pending_slots) * pending.total_bytes(); }
};
SegmentLayout segment_layout(int node_size, const Settings& settings);
// Returns how many allocations of device memory a rank can export at a time in a slot with such a part of a segment.
int exported_allocations(const Settings& settings, bool pending);
// Sets what the topology takes from the settings: CROSSRAIL_REPRODUCIBLE and
// CROSSRAIL_SCRATCH. If the latter is 0, both get the useful amount from then on.
void settle(Topology& topology, Settings& settings);
// Returns the layout of one slot for pending calls.
ControlBlockLayout pending_layout(int node_size, const Settings& settings);

class Choices;

// A PendingDecision says whether calls of a kind may be pending, for an interval of sizes.
struct PendingDecision {
  std::uint64_t kind = 0, from = 1, up_to = 0;  // The interval is empty at first.
  bool messages = false;
  bool can = false;
};

struct Communicator {
  static constexpr std::uint64_t kMostPendingSlots = 32;
  Topology topology;
  Settings settings;   // Those of scope communicator are rank 0's.
  std::shared_ptr<const std::vector<TuningRow>> tuning;  // It is rank 0's table; communicators with the same table share it.
  std::once_flag choices_made;
  std::shared_ptr<Choices> choices;  // They belong to the engine, which makes them from topology, settings and tuning with the first plan.
  SharedMemory memory;
  std::unique_ptr<HelperTeam> helpers;  // These move messages between nodes; it is null if not all ranks have helper processes.
  std::vector<std::unique_ptr<Slot>> slots;  // The first one is for blocking calls.
  std::uint64_t pending_calls = 0;           // It counts those begun so far.
  bool memory_only = false;  // A thread that calls neither MPI nor devices advances pending calls.
  PendingDecision decision;  // It is the last decision.
  SpeedGuard guard;          // It guards blocking calls.
  // On several nodes: some rank has a device driver by now (`devices`), and
  // there have been so many blocking calls (`calls`). All ranks know the same.
  bool devices = false;
  // On several nodes: it has been tried whether messages may begin and end in
  // device memory (`known`), which they do on this rank from `from` bytes on.
  struct {
    bool known = false;
    std::size_t from = SIZE_MAX;
  } device_messages;
  std::uint64_t calls = 0;
  bool native_only = false;  // No algorithm can serve any call on it, so its ranks share nothing.
  // An error has left the shared state unusable, so all later calls are native.
  std::atomic<bool> broken{false};

  Slot& slot(std::size_t number = 0) { return *slots[number]; }
  // Returns the slot of the next call that may be pending, or null if there is no slot for such calls.
  Slot* next_pending_slot() {
    return slots.size() < 2 ? nullptr : slots[1 + pending_calls++ % (slots.size() - 1)].get();
  }

  // Makes the slots once topology and settings are set. `make_links` makes the links of each slot from its number.
  void open_slots(const std::function<std::unique_ptr<Links>(int slot)>& make_links);
  // Gives every slot its part of the node's segment, which has segment_layout's size and
  // is zero; or gives one slot its own memory. `epochs_before` is as in ControlBlock.
  void place_slots(std::byte* segment, std::uint64_t epochs_before = 0);
  // Does the same for a rank that is alone, in memory of its own. Errors: system, no_memory.
  Status place_alone();
  struct SlotPart {
    std::byte* segment;
    const ControlBlockLayout& layout;
    int exported_allocations;  // There is room for so many.
    std::uint64_t epochs_before = 0;
  };
  void place_slot(Slot& slot, const SlotPart& part);
  // Persistent calls own their slots. Any thread may call it.
  void add_persistent(Slot& slot);
  void remove_persistent(const Slot& slot);
  // Tells all ranks of the node that a call on `where` has met an error.
  void break_up(Code code, const Slot& where);

 private:
  std::mutex persistent_mutex_;
  std::vector<Slot*> persistent_;
};

}  // namespace crossrail
