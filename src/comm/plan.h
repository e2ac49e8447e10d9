// Plan: all the cold work for one Shape on one communicator. Made once by <algorithm>::plan,
// used by every <algorithm>::run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "comm/buffers.h"
#include "comm/shape.h"
#include "base/status.h"
#include "topology/topology.h"
#include "transport/links.h"
#include "transport/node_board.h"

namespace crossrail {

// Numbers beside an algorithm's name in a tuning row: "packet=512 chunk=4096".
using Parameters = std::map<std::string, std::uint64_t>;

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

  // What the algorithm decided in plan().
  std::unique_ptr<std::byte[]> scratch;
  std::size_t scratch_bytes = 0;
  bool packets = false;         // node_shared: data and flag in one cache line
  std::size_t chunk_bytes = 0;  // node_shared: bytes of a block moved in one epoch

  bool native() const { return run == nullptr; }
  std::uint64_t parameter(const char* name, std::uint64_t preset) const {
    const auto found = parameters.find(name);
    return found == parameters.end() ? preset : found->second;
  }
  // Own memory of this plan on this rank. Errors: no_memory (also over CROSSRAIL_SCRATCH).
  Status reserve_scratch(std::size_t bytes);
  std::string text() const;  // one line
};

}  // namespace crossrail
