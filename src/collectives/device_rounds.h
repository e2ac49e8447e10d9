// What all-to-alls on device memory share: rounds of as many bytes of every block as fit the memory
// of ours that some side needs (mostly one round of whole blocks, and no such memory), and the blocks
// of a round in the order of the IPC paper, section III-A: first the rank's own, then rank + 1,
// rank + 2, ..., so that every device receives from one other at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algorithm.h"

namespace crossrail::alltoall_device {

struct Round {
  std::size_t from;   // of every block
  std::size_t bytes;
};

inline bool on_one_node(const Topology& topology) { return topology.one_node() && topology.shared_segment; }

// Of the largest block that goes by packets; its whole row can be staged. And of the inboxes for it,
// which are the same for all sizes.
inline std::size_t most_packet_bytes(int ranks) {
  constexpr std::size_t kMost = 16 * 1024, kMostOfRow = std::size_t{1} << 20;
  return std::min(kMost, kMostOfRow / static_cast<std::size_t>(ranks));
}
inline std::size_t inbox_bytes(const crossrail_device_module& module, int ranks) {
  return module.packets_bytes(ranks, most_packet_bytes(ranks));
}

// For rows whose ranks write to (Window::recv) or read from (Window::send) their peers' buffers.
Status plan_windows(Plan& plan, Window window);
// An exchange of all blocks with one engine.
Status run_windows(Plan& plan, const Buffers& buffers, crossrail_engine engine);

// Sides that are staged: what is sent, brought to memory of ours; what has come, to the program's.
Status stage_in(Plan& plan, const Buffers& buffers, const Round& round);
Status stage_out(Plan& plan, const Buffers& buffers, const Round& round);

}  // namespace crossrail::alltoall_device
