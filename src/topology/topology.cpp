#include "topology/topology.h"

#include <algorithm>
#include <map>
#include <utility>

namespace crossrail {

int Topology::largest_node() const {
  std::size_t largest = 0;
  for (const auto& ranks : nodes) largest = std::max(largest, ranks.size());
  return static_cast<int>(largest);
}

int Topology::smallest_node() const {
  std::size_t smallest = nodes.empty() ? 0 : nodes[0].size();
  for (const auto& ranks : nodes) smallest = std::min(smallest, ranks.size());
  return static_cast<int>(smallest);
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

Topology topology_from_nodes(const std::vector<int>& node_of, int rank) {
  Topology topology;
  topology.rank = rank;
  topology.size = static_cast<int>(node_of.size());
  std::map<int, int> number_of;
  for (int peer = 0; peer < topology.size; ++peer) {
    const auto [found, fresh] =
        number_of.try_emplace(node_of[peer], static_cast<int>(topology.nodes.size()));
    if (fresh) topology.nodes.emplace_back();
    topology.node_of.push_back(found->second);
    topology.node_rank_of.push_back(static_cast<int>(topology.nodes[found->second].size()));
    topology.nodes[found->second].push_back(peer);
  }
  topology.domain_of.assign(node_of.size(), -1);
  return topology;
}

namespace {

// More ranks than cores among the ranks that may run on the same set of cores (all of them where
// nothing is bound, one rank a set where every rank has a core of its own).
bool more_ranks_than_cores(const std::vector<Location>& locations, const std::vector<int>& ranks) {
  std::map<std::pair<int, int>, int> ranks_on;
  for (const int rank : ranks) {
    const Location& at = locations[rank];
    if (++ranks_on[{at.first_cpu, at.cpu_count}] > at.cpu_count) return true;
  }
  return false;
}

}  // namespace

Topology topology_from_locations(const std::vector<Location>& locations, int rank) {
  std::map<std::uint64_t, int> label_of;
  std::vector<int> node_of;
  for (const Location& at : locations) {
    node_of.push_back(label_of.try_emplace(at.host, static_cast<int>(label_of.size())).first->second);
  }
  Topology topology = topology_from_nodes(node_of, rank);
  for (std::size_t peer = 0; peer < locations.size(); ++peer) {
    topology.domain_of[peer] = locations[peer].domain;
  }
  topology.oversubscribed = more_ranks_than_cores(locations, topology.node_ranks());
  return topology;
}

}  // namespace crossrail
