#include "topology/topology.h"

#include <algorithm>
#include <map>
#include <utility>

namespace crossrail {

int Topology::largest_node() const {
  int largest = 0;
  for (const Group& ranks : nodes) largest = std::max(largest, ranks.size());
  return largest;
}

int Topology::smallest_node() const {
  int smallest = nodes.empty() ? 0 : nodes[0].size();
  for (const Group& ranks : nodes) smallest = std::min(smallest, ranks.size());
  return smallest;
}

std::string Topology::text() const {
  std::string text = std::to_string(size) + (size == 1 ? " rank on " : " ranks on ") +
                     std::to_string(nodes.size()) + (nodes.size() == 1 ? " node" : " nodes (");
  if (nodes.size() == 1) return text;
  constexpr std::size_t kShown = 8;
  for (std::size_t node = 0; node < std::min(nodes.size(), kShown); ++node) {
    text += (node == 0 ? "" : "+") + std::to_string(nodes[node].size());
  }
  return text + (nodes.size() > kShown ? "+..)" : ")");
}

namespace {

Group lane_of(Topology& topology, int node_rank) {
  std::vector<int> ranks;
  for (const Group& node : topology.nodes) {
    if (node.size() > node_rank) ranks.push_back(node[node_rank]);
  }
  return topology.lists.make(std::move(ranks), topology.rank);
}

// Ranks with equal labels are one node.
template <class Label>
Topology topology_from_labels(const std::vector<Label>& labels, int rank) {
  Topology topology;
  topology.rank = rank;
  topology.size = static_cast<int>(labels.size());
  topology.nodes = topology.lists.split(topology.world(), labels, rank);
  topology.node_of.resize(labels.size());
  for (int node = 0; node < topology.node_count(); ++node) {
    for (const int peer : topology.nodes[node]) topology.node_of[peer] = node;
  }
  topology.leaders = lane_of(topology, 0);
  topology.lane = lane_of(topology, topology.node_rank());
  return topology;
}

// Returns whether there are more ranks than cores among the ranks that may run on the same set of cores. If nothing is bound, that set is
// all cores; if every rank has a core of its own, each rank is a set.
bool more_ranks_than_cores(const std::vector<Location>& locations, const Group& ranks) {
  std::map<std::pair<int, int>, int> ranks_on;
  for (const int rank : ranks) {
    const Location& at = locations[rank];
    if (++ranks_on[{at.first_cpu, at.cpu_count}] > at.cpu_count) return true;
  }
  return false;
}

}  // namespace

Topology topology_from_nodes(const std::vector<int>& node_of, int rank) { return topology_from_labels(node_of, rank); }

Topology topology_from_locations(const std::vector<Location>& locations, int rank) {
  std::vector<std::uint64_t> hosts;
  for (const Location& at : locations) hosts.push_back(at.host);
  Topology topology = topology_from_labels(hosts, rank);
  std::vector<int> domains;
  for (const int peer : topology.node_ranks()) domains.push_back(locations[peer].domain);
  if (*std::min_element(domains.begin(), domains.end()) >= 0) {
    topology.domains = topology.lists.split(topology.node_ranks(), domains, rank);
  }
  topology.oversubscribed = more_ranks_than_cores(locations, topology.node_ranks());
  return topology;
}

}  // namespace crossrail
