// What all-to-alls on device memory share: rounds of as many bytes of every block as fit the memory
// of ours that some side needs (mostly one round of whole blocks, and no such memory), and the blocks
// of a round in the order of the IPC paper, section III-A: first the rank's own, then rank + 1,
// rank + 2, ..., so that every device receives from one other at a time.
//
// In a stream's order there is one round, of what peers can map, between two barriers in the streams: the
// buffers of all ranks are free, and then full.
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

// Of the largest block that goes by packets; its whole row can be staged. And of the receive buffers for it,
// which are the same for all sizes.
inline std::size_t most_packet_bytes(int ranks) {
  constexpr std::size_t kMost = 16 * 1024, kMostOfRow = std::size_t{1} << 20;
  return std::min(kMost, kMostOfRow / static_cast<std::size_t>(ranks));
}
inline std::size_t receive_buffer_bytes(const Plan& plan) {
  return plan.devices->queue().module().packets_bytes(plan.group.size(), most_packet_bytes(plan.group.size()));
}

// What all calls in a stream's order need of the ranks' devices; others need nothing.
Status plan_order(Plan& plan);
// For rows whose ranks write to (MappedSide::recv) or read from (MappedSide::send) their peers' buffers.
Status plan_mapped(Plan& plan, MappedSide side);
// An exchange of all blocks with one engine.
Status run_mapped(Plan& plan, const Buffers& buffers, crossrail_engine engine);

// Sides that are staged: what is sent, brought to memory of ours; what has come, to the program's. The former
// may still be under way on return, in front of what the device is asked next.
Status stage_in(Plan& plan, const Buffers& buffers, const Round& round, DeviceWork& work);
Status stage_out(Plan& plan, const Buffers& buffers, const Round& round);

}  // namespace crossrail::alltoall_device
