// A Plan is the part of the work that is done only once for one Shape on one
// communicator. <algorithm>::plan makes it, and every <algorithm>::run uses it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/buffers.h"
#include "comm/parameter.h"
#include "comm/shape.h"
#include "base/bytes.h"
#include "base/growable_buffer.h"
#include "base/status.h"
#include "topology/topology.h"
#include "base/settings.h"
#include "device_sharing/device_sharing.h"
#include "transport/links.h"
#include "transport/control_block.h"
#include "transport/helper_links.h"

namespace crossrail {

// Traffic is what a rank has moved. It is counted where it is moved.
struct Traffic {
  std::uint64_t sends = 0;         // They go to ranks on other nodes.
  std::uint64_t sent_bytes = 0;    // They are the bytes of these messages.
  std::uint64_t staged_bytes = 0;  // They were copied into memory that the node shares.
  std::uint64_t local_sends = 0;   // They go to ranks on the same node.
  Traffic& operator+=(const Traffic& more) {
    sends += more.sends;
    sent_bytes += more.sent_bytes;
    staged_bytes += more.staged_bytes;
    local_sends += more.local_sends;
    return *this;
  }
};

// On devices, rounds are laid out in these, one for every block. `launched` are the members whose blocks this rank moves (DeviceQueue::launched).
struct DeviceBlocks {
  std::vector<crossrail_block> exchanged, staged;
  std::vector<crossrail_movement> movements;  // Blocks with gaps have these.
  std::vector<int> launched;
};

struct Plan {
  Shape shape;             // It is that of the present call.
  std::uint64_t hash = 0;  // It is the hash of that Shape.
  Group group;  // The plan runs over its ranks, with a block for each. It is the world, except in a part of another plan.
  const char* algorithm = "native";  // It is the algorithm's row in the catalogue.
  Status (*run)(Plan&, const Buffers&) = nullptr;  // If null, the plan is native and MPI does the call.
  // In a plan on several nodes, it runs if all sides of this node's ranks are in device memory; other nodes see no difference. It is null if the plan
  // cannot do that. If it returns Code::unsupported, on all ranks of the node alike and before anything has moved, `run` must do the call.
  Status (*run_on_devices)(Plan&, const Buffers&) = nullptr;
  std::size_t device_block_bytes = 0;  // These are the bytes and needs of such a call.
  DeviceNeeds device_needs;
  DeviceBlocks device_blocks;
  ParameterValues parameters;
  std::string reason;  // It says which row chose the plan, and why not an earlier one.

  // The slot and its communicator own these and outlive the plan.
  const Topology* topology = nullptr;
  const HelperTeam* helper_team = nullptr;  // It is null if not all ranks have helper processes.
  Links* links = nullptr;
  ControlBlock* control = nullptr;  // It is null if the node shares no segment.
  DeviceSharing* devices = nullptr;  // It is this node's; it is null if `control` is.
  const Settings* settings = nullptr;

  NodeMemory* node_memory = nullptr;  // It is null if `control` is.
  GrowableBuffer* slot_scratch = nullptr;
  std::uint64_t number = 0;           // It counts the plans on its communicator, from 1 on.

  // The algorithm decides these in plan().
  std::size_t scratch_bytes = 0;  // The plan uses so much of the slot's scratch.
  std::size_t node_bytes = 0;    // The plan uses so much of node_memory on this node.
  std::shared_ptr<void> state;   // The algorithm may keep anything else here, and only it knows the type.
  bool packets = false;         // In node_shared, data and flag are in one cache line.
  // It says which blocks the plan takes as they lie in the user's memory, with gaps and in place: none, those between ranks of a node, or all.
  enum class AsTheyLie : std::uint8_t { none, in_node, all };
  AsTheyLie as_they_lie = AsTheyLie::none;
  std::size_t chunk_bytes = 0;  // If it is not 0, so many bytes of a block move at a time.
  MappedSide mapped = MappedSide::none;  // On devices, these sides of peers' memory are mapped.
  bool fallback = false;      // The plan is native because nothing else fits.
  const char* part = "";         // It is the algorithm that hybrid has chosen.

  // These are the sizes of blocks that the plan serves, the same on all ranks: that of the call for which it is made, and those that plan() adds.
  struct Sizes {
    std::uint64_t from = ~std::uint64_t{0}, up_to = 0;
    bool contain(std::uint64_t bytes) const { return bytes >= from && bytes <= up_to; }
  };
  Sizes sizes;
  static constexpr std::uint64_t kAnySize = ~std::uint64_t{0};
  void serve(std::uint64_t from, std::uint64_t up_to) { sizes = {from, up_to}; }

  bool native() const { return run == nullptr; }
  // Returns the value of a parameter that the algorithm's row declares, within its unit's limits.
  std::uint64_t parameter(const Parameter& declared) const;
  template <class State>
  State& keep(State&& made) {
    auto kept = std::make_shared<std::decay_t<State>>(std::forward<State>(made));
    state = kept;
    return *kept;
  }
  template <class State>
  State& kept() const {
    return *static_cast<State*>(state.get());
  }

  // They count what run() has moved in all calls and in the last one. The set has the ranks
  // on other nodes to which this rank has sent, since each takes a reliable connection.
  Traffic total, last;
  std::vector<bool> remote_partners;
  std::uint64_t remote_partner_count = 0;
  std::uint64_t calls = 0;
  std::uint64_t calls_on_devices = 0;  // run_on_devices did so many of these calls here.
  void count_send(int rank, std::size_t bytes);
  // Sends and receives messages through links and counts them. `rank` is the communicator's.
  Status send(int rank, const void* data, std::size_t bytes, Links::Channel channel = Links::Channel::blocks) {
    count_send(rank, bytes);
    return links->post_send(rank, data, bytes, channel);
  }
  Status receive(int rank, void* data, std::size_t bytes, Links::Channel channel = Links::Channel::blocks) {
    return links->post_recv(rank, data, bytes, channel);
  }
  Status receive_up_to(int rank, const Links::UpTo& what, Links::Channel channel = Links::Channel::blocks) {
    return links->post_recv_up_to(rank, what, channel);
  }
  // Copies into memory that the node shares and counts it.
  void stage(void* to, const void* from, std::size_t bytes) {
    last.staged_bytes += bytes;
    copy_block(to, from, bytes);
  }

  // Opens messages and gets `bytes` bytes of the node's memory. All ranks call it alike, whatever else has failed. Errors: no_memory (also if
  // CROSSRAIL_SCRATCH is exceeded), system, those of Links::open_messages.
  Status open_messages_and_memory(std::size_t bytes);
  // Returns the node's memory at the beginning of a run, when no other plan reads it any more.
  Status enter_node_memory(std::byte*& memory);
  // Reserves this rank's own memory for every run. Its content is lost between runs. Errors: no_memory (also if CROSSRAIL_SCRATCH is exceeded).
  Status reserve_scratch(std::size_t bytes);
  // plan() calls it to share long messages among so many processes of each rank, as far as there are helper processes.
  void share_with_helpers(std::uint64_t processes);
  std::shared_ptr<HelperLinks> helper_links;  // If it is set, `links` are these.
  // Returns the size that is worth sharing among the processes if `bytes` would be enough for one.
  std::size_t shared_bytes(std::size_t bytes) const { return helper_links == nullptr ? bytes : std::max(bytes, helper_links->worth_sharing()); }
  std::byte* scratch() const { return slot_scratch->memory.get(); }
  std::string text() const;  // It is one line.
};

}  // namespace crossrail
