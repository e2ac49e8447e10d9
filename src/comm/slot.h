// Slot: all that one call of a communicator needs while it runs: its part of the node's segment, its messages, its plans and its memory. A
// slot runs one call at a time.
//
// A communicator has one slot for blocking calls, CROSSRAIL_SLOTS more for nonblocking calls, and one for each persistent call
// (mpi/communicator/persistent_slot.h). Collectives are called in the same order on all ranks, so the n-th nonblocking call takes slot 1 +
// n mod slots everywhere, without asking. If that slot is busy, the call waits for its turn.
//
// A plan belongs to one slot. Therefore it may keep working memory, and running it allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/growable_buffer.h"
#include "comm/plan_cache.h"
#include "device_sharing/device_sharing.h"
#include "transport/control_block.h"
#include "transport/links.h"

namespace crossrail {

struct Communicator;

// PackingMemory holds packed datatypes, and host copies of buffers in device memory.
class PackingMemory {
 public:
  GrowableBuffer packed, staged_send, staged_recv;
  // Reserves one of the latter two. Errors: no_memory.
  Status reserve_staged(GrowableBuffer& staged, std::size_t bytes);
  // Returns large memory after a call. Copies of device memory are kept a while longer, because fresh pages cost more than the copies.
  void shrink() {
    if ((packed.bytes | staged_send.bytes | staged_recv.bytes) != 0) shrink_what_is_held();
  }

 private:
  void shrink_what_is_held();
  std::size_t largest_staged_ = 0;  // It belongs to the present call.
  int small_calls_ = 0;             // It counts calls since the last one that staged much.
};

struct Slot {
  Slot(Communicator& communicator, std::unique_ptr<Links> its_links, std::size_t plan_count)
      : owner(communicator), links(std::move(its_links)), plans(plan_count) {}

  Communicator& owner;
  bool pending = false;  // Its calls run on fibers and never become native once they have begun.
  bool busy = false;     // A pending call runs on it.
  std::unique_ptr<Links> links;
  std::unique_ptr<ControlBlock> control;  // It is null if the node shares no segment.
  std::unique_ptr<DeviceSharing> devices;  // It is this node's; it is null if `control` is.
  int exported_allocations = 0;  // The slot's part of the segment has room for so many of each rank.
  NodeMemory node_memory;
  PlanCache plans;
  std::uint64_t plan_number = 0;  // It is the number of the last plan made.
  // For each candidate (selection/choice.h), it is the largest block for which all ranks have made a plan together.
  struct Planned {
    const void* candidate;
    std::uint64_t bytes;
  };
  std::vector<Planned> planned;
  // Messages were open when the running call began; all ranks saw the same.
  bool messages = true;

  std::uint64_t unbounded_calls = 0;  // It counts calls by messages in which a rank does not wait for all others.

  std::string error;  // It explains the last call that failed.

  GrowableBuffer scratch;  // Whichever plan runs uses it.
  PackingMemory packing;

  // A wait on a fiber looks so often before it suspends the fiber.
  void spin(int times) {
    if (control != nullptr) control->spin(times);
  }
  // From now on, waits of its calls suspend this fiber; if it is null, they spin.
  void run_on(Fiber* fiber) {
    links->run_on(fiber);
    if (control != nullptr) control->run_on(fiber);
  }
};

}  // namespace crossrail
