// What both halves of multi_lane share: multi_lane.cpp, by processors, and multi_lane_devices.cpp, by a node's devices. Parts, shares and
// messages are the same, so that every node may choose for itself.
#pragma once

#include "collectives/allreduce/node_part.h"

namespace crossrail::allreduce::multi_lane {

struct Lanes {
  std::size_t grain;    // elements
  std::size_t halving, circling;  // bytes
  std::size_t stride;   // from one rank's region to the next one's
};

// Of a part of so many elements.
inline Shares shares_of(const Plan& plan, std::size_t count) { return {count, plan.kept<Lanes>().grain, plan.topology->smallest_node()}; }

// How a lane combines so many elements: in whole messages, by halving them, or in a ring.
enum class InLane : std::uint8_t { whole, halved, ring };
inline InLane in_lane(const Plan& plan, std::size_t elements) {
  const Lanes& lanes = plan.kept<Lanes>();
  const std::size_t bytes = elements * bytes_of(plan.shape.reduction.element);
  return bytes >= lanes.circling ? InLane::ring : bytes >= lanes.halving ? InLane::halved : InLane::whole;
}
// This rank's share, combined with those of its lane on all nodes, where it lies.
Status across_nodes(Plan& plan, const Elements& share);

// Once the plan has its Lanes and chunk_bytes: what it does where its node's ranks have their elements on devices.
void plan_on_devices(Plan& plan);

}  // namespace crossrail::allreduce::multi_lane
