// Plan: all the cold work for one Shape on one communicator. Made once by <algorithm>::plan,
// used by every <algorithm>::run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/buffers.h"
#include "comm/shape.h"
#include "base/bytes.h"
#include "base/status.h"
#include "topology/topology.h"
#include "transport/device_board.h"
#include "transport/links.h"
#include "transport/node_board.h"

namespace crossrail {

// Numbers beside an algorithm's name in a tuning row: "packet=512 chunk=4096".
using Parameters = std::map<std::string, std::uint64_t>;

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

struct Plan {
  Shape shape;
  const char* algorithm = "native";  // its row in the catalogue
  Status (*run)(Plan&, const Buffers&) = nullptr;  // null: native, the MPI library carries the call
  Parameters parameters;
  std::string reason;  // which row chose it, and why not the ones before

  // Owned by the communicator, which outlives the plan.
  const Topology* topology = nullptr;
  Links* links = nullptr;
  NodeBoard* board = nullptr;  // null where the node shares no segment
  DeviceBoard* devices = nullptr;  // null where board is, and on several nodes

  NodeMemory* node_memory = nullptr;  // null where board is
  std::uint64_t number = 0;           // of the plan on its communicator; from 1

  // What the algorithm decided in plan().
  std::unique_ptr<std::byte[]> scratch;
  std::size_t scratch_bytes = 0;
  std::size_t node_bytes = 0;    // of node_memory, that this plan uses on this node
  std::shared_ptr<void> state;   // whatever else it keeps; only the algorithm knows its type
  bool packets = false;         // node_shared: data and flag in one cache line
  std::size_t chunk_bytes = 0;  // node_shared: bytes of a block moved in one epoch
  Window window = Window::none;  // on devices: the side of which peers' memory is mapped
  bool last_resort = false;      // native because nothing else fits
  const char* part = "";         // hybrid: the algorithm that it has chosen

  bool native() const { return run == nullptr; }
  std::uint64_t parameter(const char* name, std::uint64_t preset) const {
    const auto found = parameters.find(name);
    return found == parameters.end() ? preset : found->second;
  }
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
  void count_send(int rank, std::size_t bytes);
  // Messages through links, counted.
  Status send(int rank, const void* data, std::size_t bytes, Links::Channel channel = Links::Channel::blocks) {
    count_send(rank, bytes);
    return links->post_send(rank, data, bytes, channel);
  }
  Status receive(int rank, void* data, std::size_t bytes, Links::Channel channel = Links::Channel::blocks) {
    return links->post_recv(rank, data, bytes, channel);
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
  // Own memory of this plan on this rank. Errors: no_memory (also over CROSSRAIL_SCRATCH).
  Status reserve_scratch(std::size_t bytes);
  std::string text() const;  // one line
};

}  // namespace crossrail
