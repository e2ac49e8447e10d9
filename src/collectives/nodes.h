// Nodes as partners: who exchanges with whom, and who speaks for a node.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algorithm.h"

namespace crossrail {

// The nodes that a node sends to and receives from in steps 1 to N-1 (OHIO paper, section III-A):
// both are node XOR step where N is a power of two, otherwise a ring shifted by the step. Both ends
// of a message count it as the same step.
struct Partners {
  int to, from;
};

inline Partners partners_of(const Topology& topology, int step) {
  const int nodes = topology.node_count();
  const int node = topology.node();
  if ((nodes & (nodes - 1)) == 0) return {node ^ step, node ^ step};
  return {(node + step) % nodes, (node - step + nodes) % nodes};
}

inline std::size_t ranks_on(const Topology& topology, int node) { return topology.nodes[node].size(); }
inline int leader_of(const Topology& topology, int node) { return topology.nodes[node].front(); }
inline bool consecutive(const std::vector<int>& ranks) {
  return ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
}

// Most ranks on a node other than `node`.
inline std::size_t largest_other(const Topology& topology, int node) {
  std::size_t most = 0;
  for (int other = 0; other < topology.node_count(); ++other) {
    if (other != node) most = std::max(most, ranks_on(topology, other));
  }
  return most;
}

}  // namespace crossrail
