// Both halves of multi_lane share this code: multi_lane.cpp, for processors, and multi_lane_devices.cpp, for a node's devices. Parts, shares and
// messages are the same, so every node may choose for itself.
#pragma once

#include "collectives/allreduce/node_part.h"

namespace crossrail::allreduce::multi_lane {

struct Lanes {
  std::size_t grain;    // It counts elements.
  std::size_t halving, circling;  // Both count bytes.
  std::size_t stride;   // It is the distance from one rank's region to the next.
};

// Divides a part of `count` elements into shares.
inline Shares shares_of(const Plan& plan, std::size_t count) { return {count, plan.kept<Lanes>().grain, plan.topology->smallest_node()}; }

// This says how a lane combines its elements: in whole messages, by halving them, or in a ring.
enum class InLane : std::uint8_t { whole, halved, ring };
inline InLane in_lane(const Plan& plan, std::size_t elements) {
  const Lanes& lanes = plan.kept<Lanes>();
  const std::size_t bytes = elements * bytes_of(plan.shape.reduction.element);
  return bytes >= lanes.circling ? InLane::ring : bytes >= lanes.halving ? InLane::halved : InLane::whole;
}
// Combines this rank's share, where it lies, with those of its lane on all nodes.
Status across_nodes(Plan& plan, const Elements& share);

// Is called when the plan has its Lanes and chunk_bytes. It plans the case that the node's ranks have their elements on devices.
void plan_on_devices(Plan& plan);

}  // namespace crossrail::allreduce::multi_lane
