// Plan: all the cold work for one Shape on one communicator. Made once by <algorithm>::plan,
// used by every <algorithm>::run.
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

// What a rank has moved, counted where it is moved.
struct Traffic {
  std::uint64_t sends = 0;         // messages to ranks on other nodes
  std::uint64_t sent_bytes = 0;    // in them
  std::uint64_t staged_bytes = 0;  // copied into memory that the node shares
  std::uint64_t local_sends = 0;   // messages to ranks on the same node
  Traffic& operator+=(const Traffic& more) {
    sends += more.sends;
    sent_bytes += more.sent_bytes;
    staged_bytes += more.staged_bytes;
    local_sends += more.local_sends;
    return *this;
  }
};

// On devices: what rounds are laid out in, one for every block, and the members whose blocks this rank moves (DeviceQueue::launched).
struct DeviceBlocks {
  std::vector<crossrail_block> exchanged, staged;
  std::vector<crossrail_movement> movements;  // of blocks with gaps
  std::vector<int> launched;
};

struct Plan {
  Shape shape;             // of the present call
  std::uint64_t hash = 0;  // its
  Group group;  // whose ranks it runs over, with a block for each: the world, or of a part of another plan any other
  const char* algorithm = "native";  // its row in the catalogue
  Status (*run)(Plan&, const Buffers&) = nullptr;  // null: native, the MPI library carries the call
  // Of a plan on several nodes, what it does where all sides of this node's ranks are in device memory: other nodes see no difference.
  // Null: it cannot. Code::unsupported before anything has moved, on all ranks of the node alike: `run` must do it.
  Status (*run_on_devices)(Plan&, const Buffers&) = nullptr;
  std::size_t device_block_bytes = 0;  // of such a call, and what it needs
  DeviceNeeds device_needs;
  DeviceBlocks device_blocks;
  ParameterValues parameters;
  std::string reason;  // which row chose it, and why not the ones before

  // Owned by the slot and its communicator, which outlive the plan.
  const Topology* topology = nullptr;
  const HelperTeam* helper_team = nullptr;  // null where not all ranks have helper processes
  Links* links = nullptr;
  ControlBlock* control = nullptr;  // null where the node shares no segment
  DeviceSharing* devices = nullptr;  // of this node; null where control is
  const Settings* settings = nullptr;

  NodeMemory* node_memory = nullptr;  // null where control is
  GrowableBuffer* slot_scratch = nullptr;
  std::uint64_t number = 0;           // of the plan on its communicator; from 1

  // What the algorithm decided in plan().
  std::size_t scratch_bytes = 0;  // of the slot's scratch
  std::size_t node_bytes = 0;    // of node_memory, that this plan uses on this node
  std::shared_ptr<void> state;   // whatever else it keeps; only the algorithm knows its type
  bool packets = false;         // node_shared: data and flag in one cache line
  // Blocks that it takes as they lie in the user's memory, with gaps and in place: none, those between ranks of a node, all.
  enum class AsTheyLie : std::uint8_t { none, in_node, all };
  AsTheyLie as_they_lie = AsTheyLie::none;
  std::size_t chunk_bytes = 0;  // node_shared: bytes of a block moved in one epoch
  MappedSide mapped = MappedSide::none;  // on devices: the sides of which peers' memory is mapped
  bool fallback = false;      // native because nothing else fits
  const char* part = "";         // hybrid: the algorithm that it has chosen

  // The sizes of blocks that the plan serves, the same on all ranks: that of the call for which it is made, and those that plan() adds.
  struct Sizes {
    std::uint64_t from = ~std::uint64_t{0}, up_to = 0;
    bool contain(std::uint64_t bytes) const { return bytes >= from && bytes <= up_to; }
  };
  Sizes sizes;
  static constexpr std::uint64_t kAnySize = ~std::uint64_t{0};
  void serve(std::uint64_t from, std::uint64_t up_to) { sizes = {from, up_to}; }

  bool native() const { return run == nullptr; }
  // The value of a parameter that the algorithm's row declares, within its unit's limits.
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

  // What run() has moved in all calls and in the last one, and the ranks on other nodes that this
  // rank has sent to (a reliable connection each).
  Traffic total, last;
  std::vector<bool> remote_partners;
  std::uint64_t remote_partner_count = 0;
  std::uint64_t calls = 0;
  std::uint64_t calls_on_devices = 0;  // of those, done by run_on_devices here
  void count_send(int rank, std::size_t bytes);
  // Messages through links, counted. `rank` is the communicator's.
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
  // Copies into memory that the node shares, counted.
  void stage(void* to, const void* from, std::size_t bytes) {
    last.staged_bytes += bytes;
    copy_block(to, from, bytes);
  }

  // Messages, and `bytes` of the node's memory. Called by all ranks alike, whatever else has failed.
  // Errors: no_memory (also over CROSSRAIL_SCRATCH), system, those of Links::open_messages.
  Status open_messages_and_memory(std::size_t bytes);
  // The node's memory at the beginning of a run: free of what another plan may still be reading.
  Status enter_node_memory(std::byte*& memory);
  // Memory of this rank's own for every run; what it holds is lost between them. Errors: no_memory (also over
  // CROSSRAIL_SCRATCH).
  Status reserve_scratch(std::size_t bytes);
  // From plan(): long messages are shared by so many processes of each rank, as far as there are helpers.
  void share_with_helpers(std::uint64_t processes);
  std::shared_ptr<HelperLinks> helper_links;  // then `links` are these
  // What is worth sharing among them, where so much would do for one.
  std::size_t shared_bytes(std::size_t bytes) const { return helper_links == nullptr ? bytes : std::max(bytes, helper_links->worth_sharing()); }
  std::byte* scratch() const { return slot_scratch->memory.get(); }
  std::string text() const;  // one line
};

}  // namespace crossrail
