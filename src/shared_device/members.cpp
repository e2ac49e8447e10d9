#include "shared_device/members.h"

#include <algorithm>
#include <utility>

namespace crossrail::shared_device {
namespace {

int node_rank_of(const Group& node, int rank) {
  int found = 0;
  while (node[found] != rank) ++found;
  return found;
}

}  // namespace

Members::Members(const Topology& topology, const std::vector<int>& keys) {
  std::vector<std::pair<int, int>> labels;
  for (int rank = 0; rank < topology.size; ++rank) {
    labels.emplace_back(topology.node_of[static_cast<std::size_t>(rank)], keys[static_cast<std::size_t>(rank)]);
  }
  devices_ = lists_.split(topology.world(), labels, topology.rank);
  fewest_ = topology.size;
  for (const Group& one : devices_) {
    fewest_ = std::min(fewest_, one.size());
    if (one.index() < 0) continue;
    number_ = static_cast<int>(&one - devices_.data());
    device_ = one;
  }
  if (place() < fewest_) {
    std::vector<int> ranks;
    for (const Group& one : devices_) ranks.push_back(one[place()]);
    same_place_ = lists_.make(std::move(ranks), topology.rank);
  }
  look_at_node(topology);
}

void Members::look_at_node(const Topology& topology) {
  const Group& node = topology.node_ranks();
  leader_of_.resize(static_cast<std::size_t>(node.size()));
  index_.resize(leader_of_.size());
  int next = 0;
  for (const Group& device : devices_) {
    node_leader_.push_back(-1);
    if (topology.node_of[static_cast<std::size_t>(device[0])] != topology.node()) continue;
    const int leader = node_rank_of(node, device[0]);
    node_leader_.back() = leader;
    leaders_.push_back(leader);
    for (const int rank : device) {
      const auto node_rank = static_cast<std::size_t>(node_rank_of(node, rank));
      leader_of_[node_rank] = leader;
      index_[node_rank] = next++;
    }
  }
}

}  // namespace crossrail::shared_device
