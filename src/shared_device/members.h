// Members: which ranks of a communicator share a device. Ranks of a node that give the same key do; the first of them is the device's
// leader, to whom the buffers belong, and a rank's place is its number among them.
#pragma once

#include <vector>

#include "topology/topology.h"

namespace crossrail::shared_device {

class Members {
 public:
  // `keys`: of all ranks of the communicator.
  Members(const Topology& topology, const std::vector<int>& keys);

  int devices() const { return static_cast<int>(devices_.size()); }  // of all nodes
  int device() const { return number_; }                             // this rank's among them
  int processes() const { return device_.size(); }                  // of this rank's device
  int fewest_processes() const { return fewest_; }                   // of any device
  int place() const { return device_.index(); }
  bool leads() const { return place() == 0; }
  // The ranks of all devices that have this one's place, in the order of the leaders; of nobody where some device has no such rank.
  const Group& same_place() const { return same_place_; }

  // ----- of this node, by node rank
  const std::vector<int>& leader_of() const { return leader_of_; }
  const std::vector<int>& leaders() const { return leaders_; }  // ascending
  int node_leader(int device) const { return node_leader_[static_cast<std::size_t>(device)]; }  // -1: it is another node's
  int place_of(int node_rank) const {
    return index_by_device(node_rank) - index_by_device(leader_of_[static_cast<std::size_t>(node_rank)]);
  }
  // Ranks device by device: those that share one follow each other.
  int index_by_device(int node_rank) const { return index_[static_cast<std::size_t>(node_rank)]; }

 private:
  void look_at_node(const Topology& topology);

  std::vector<Group> devices_;  // by their leaders
  Group device_, same_place_;
  int number_ = 0, fewest_ = 0;
  std::vector<int> leader_of_, leaders_, node_leader_, index_;
  GroupLists lists_;
};

}  // namespace crossrail::shared_device
