// Every rank on another node has a server: the rank of this node that handles what is sent between the two. Ranks are dealt to servers by their
// numbers in their nodes, so that on nodes with equally many ranks a server is in the lane of the ranks that it serves. Nodes may differ.
#pragma once

#include "topology/topology.h"

namespace crossrail {

// Returns the rank on `node` that serves the rank with this number in another node.
inline int server_on(const Topology& topology, int node, int node_rank) {
  const Group& ranks = topology.nodes[static_cast<std::size_t>(node)];
  return ranks[node_rank % ranks.size()];
}

// Calls `visit(rank)` for the ranks of other nodes that the rank with this number in this node serves.
template <class Visit>
Status for_served(const Topology& topology, int node_rank, Visit visit) {
  for (int step = 1; step < topology.node_count(); ++step) {
    const Group& ranks = topology.nodes[static_cast<std::size_t>((topology.node() + step) % topology.node_count())];
    for (int number = node_rank; number < ranks.size(); number += topology.node_size()) CROSSRAIL_TRY(visit(ranks[number]));
  }
  return {};
}

// Calls `visit(rank)` for this rank's own servers, one on each other node.
template <class Visit>
Status for_servers(const Topology& topology, Visit visit) {
  for (int step = 1; step < topology.node_count(); ++step) {
    CROSSRAIL_TRY(visit(server_on(topology, (topology.node() + step) % topology.node_count(), topology.node_rank())));
  }
  return {};
}

}  // namespace crossrail
