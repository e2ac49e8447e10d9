// Communicator: what crossrail remembers of an MPI communicator. Ranks build it together at the
// first call and it goes when the communicator is freed.
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

// The node's segment: a part for every slot, the one for blocking calls first.
struct SegmentLayout {
  ControlBlockLayout blocking, pending;
  int pending_slots = 0;
  std::size_t total_bytes() const { return blocking.total_bytes() + static_cast<std::size_t>(pending_slots) * pending.total_bytes(); }
};
SegmentLayout segment_layout(int node_size, const Settings& settings);
// What the topology has of the settings: CROSSRAIL_REPRODUCIBLE, and CROSSRAIL_SCRATCH, or what is useful where it is 0, which is what both
// have from then on.
void settle(Topology& topology, Settings& settings);
// The part of one slot for pending calls.
ControlBlockLayout pending_layout(int node_size, const Settings& settings);

class Choices;

// Whether calls of a kind may be pending, for sizes of an interval.
struct PendingDecision {
  std::uint64_t kind = 0, from = 1, up_to = 0;  // no size yet
  bool messages = false;
  bool can = false;
};

struct Communicator {
  static constexpr std::uint64_t kMostPendingSlots = 32;
  Topology topology;
  Settings settings;   // rank 0's where the scope is the communicator
  std::shared_ptr<const std::vector<TuningRow>> tuning;  // rank 0's; communicators with the same ones share them
  std::once_flag choices_made;
  std::shared_ptr<Choices> choices;  // made of topology, settings and tuning when the first plan is made; the engine's
  SharedMemory memory;
  std::unique_ptr<HelperTeam> helpers;  // helper processes that move messages between nodes; null: not all ranks have some
  std::vector<std::unique_ptr<Slot>> slots;  // the first for blocking calls
  std::uint64_t pending_calls = 0;           // begun so far
  bool memory_only = false;  // pending calls are moved by a thread that calls neither MPI nor devices
  PendingDecision decision;  // the last one
  SpeedGuard guard;          // of blocking calls
  // Several nodes: whether some rank has a driver of devices by now, and the blocking calls so far; all ranks know the same.
  bool devices = false;
  // Several nodes: whether messages may begin and end in device memory has been tried, and from how many bytes on they do on this rank.
  struct {
    bool known = false;
    std::size_t from = SIZE_MAX;
  } device_messages;
  std::uint64_t calls = 0;
  bool native_only = false;  // no algorithm could serve any call on it: its ranks share nothing
  // An error has left the shared state unusable: all later calls are native.
  std::atomic<bool> broken{false};

  Slot& slot(std::size_t number = 0) { return *slots[number]; }
  // The slot of the next call that may be pending; null if there are none for such calls.
  Slot* next_pending_slot() {
    return slots.size() < 2 ? nullptr : slots[1 + pending_calls++ % (slots.size() - 1)].get();
  }

  // Once topology and settings are there: the slots, each with links that `make_links` makes for its number.
  void open_slots(const std::function<std::unique_ptr<Links>(int slot)>& make_links);
  // Gives every slot its part of the node's segment, of segment_layout's size and zero; one slot its own.
  // `epochs_before` as in ControlBlock.
  void place_slots(std::byte* segment, std::uint64_t epochs_before = 0);
  // The same for a rank alone, in memory of its own. Errors: system, no_memory.
  Status place_alone();
  struct SlotPart {
    std::byte* segment;
    const ControlBlockLayout& layout;
    std::uint64_t epochs_before = 0;
  };
  void place_slot(Slot& slot, const SlotPart& part);
  // Slots of persistent calls, which own them. By any thread.
  void add_persistent(Slot& slot);
  void remove_persistent(const Slot& slot);
  // After an error in a call on `where`: tells all ranks of the node.
  void break_up(Code code, const Slot& where);

 private:
  std::mutex persistent_mutex_;
  std::vector<Slot*> persistent_;
};

}  // namespace crossrail
