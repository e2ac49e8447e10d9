// These functions treat nodes as partners and say which rank of a node does what.
#pragma once

#include <algorithm>

#include "collectives/algorithm.h"
#include "collectives/partners.h"

namespace crossrail {

// Returns the nodes that this rank's node sends to and receives from in a step.
inline Partners partners_of(const Topology& topology, int step) {
  return partners_of(topology.node(), topology.node_count(), step);
}

inline std::size_t ranks_on(const Topology& topology, int node) { return static_cast<std::size_t>(topology.nodes[node].size()); }

// Returns the rank whose turn it is in a node.
inline int in_turn(const Group& ranks, int turn) { return ranks[turn % ranks.size()]; }

// Returns the largest number of ranks on a node other than `node`.
inline std::size_t largest_other(const Topology& topology, int node) {
  std::size_t most = 0;
  for (int other = 0; other < topology.node_count(); ++other) {
    if (other != node) most = std::max(most, ranks_on(topology, other));
  }
  return most;
}

}  // namespace crossrail
