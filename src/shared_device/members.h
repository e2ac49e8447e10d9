// Members says which ranks of a communicator share a device. Ranks of a node that give the same key do. The first of them is the device's
// leader, to whom the buffers belong, and a rank's place is its number among them.
#pragma once

#include <vector>

#include "topology/topology.h"

namespace crossrail::shared_device {

class Members {
 public:
  // `keys` are those of all ranks of the communicator.
  Members(const Topology& topology, const std::vector<int>& keys);

  int devices() const { return static_cast<int>(devices_.size()); }  // It counts those of all nodes.
  int device() const { return number_; }                             // It is this rank's device among them.
  int processes() const { return device_.size(); }                  // It counts those of this rank's device.
  int fewest_processes() const { return fewest_; }                   // It is the fewest of any device.
  int place() const { return device_.index(); }
  bool leads() const { return place() == 0; }
  // These are the ranks of all devices that have this one's place, in the order of the leaders. The group is empty where some device has no
  // such rank.
  const Group& same_place() const { return same_place_; }

  // ----- These concern this node and go by node rank.
  const std::vector<int>& leader_of() const { return leader_of_; }
  const std::vector<int>& leaders() const { return leaders_; }  // They are in ascending order.
  int node_leader(int device) const { return node_leader_[static_cast<std::size_t>(device)]; }  // It is -1 if it is another node's.
  int place_of(int node_rank) const {
    return index_by_device(node_rank) - index_by_device(leader_of_[static_cast<std::size_t>(node_rank)]);
  }
  // This numbers the ranks device by device, so that those that share one follow each other.
  int index_by_device(int node_rank) const { return index_[static_cast<std::size_t>(node_rank)]; }

 private:
  void look_at_node(const Topology& topology);

  std::vector<Group> devices_;  // They are in the order of their leaders.
  Group device_, same_place_;
  int number_ = 0, fewest_ = 0;
  std::vector<int> leader_of_, leaders_, node_leader_, index_;
  GroupLists lists_;
};

}  // namespace crossrail::shared_device
